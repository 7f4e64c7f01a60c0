"""The dashboard: `streamlit run app/Home.py`."""
