# The app as a service: docker build -t l2d . && docker run -p 8501:8501 -v l2d-runs:/app/runs l2d
# It has PyTorch for CPUs alone. For one with CUDA: --build-arg REQUIREMENTS=requirements.txt
FROM python:3.12-slim
ARG REQUIREMENTS=app/requirements.txt
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /app
COPY requirements.txt pyproject.toml README.md LICENSE ./
# Both packages, which the installation looks for.
COPY l2d_core l2d_core
COPY .streamlit .streamlit
COPY app app
COPY pretrained pretrained
RUN pip install -r "$REQUIREMENTS"
RUN python -m compileall -q app l2d_core && useradd --create-home --uid 1000 app && mkdir runs && chown app runs
USER app
VOLUME /app/runs
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]
CMD ["streamlit", "run", "app/Home.py", "--server.address=0.0.0.0", "--server.port=8501"]
