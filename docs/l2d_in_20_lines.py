# %% [markdown]
# # Learning to defer in 20 lines
# Cells for a notebook (VS Code, Jupytext and PyCharm open this file as one); or `python docs/l2d_in_20_lines.py`.
# %%
from l2d_core import LAB_DATASETS, accuracies, calibration_error, defer_by_argmax, expert_probability, fit, per_class

splits = LAB_DATASETS["digits"].load(seed=0, noise=0.5)
# %% An expert who is right in 75 % of the digits 0 to 4, and in 20 % of 5 to 9
expert = per_class([0.75] * 5 + [0.20] * 5)
result = fit(splits.train, splits.test, expert, surrogates=("softmax", "one_vs_all"), seeds=[0])
# %% How often each is right; the system defers a case where the deferral score is the highest
for surrogate, (scores,) in result.scores.items():
    right = accuracies(scores, defer_by_argmax(scores.logits))
    probability = expert_probability(scores)[:, 0].clip(max=1)  # softmax odds can be above 1
    error = calibration_error(probability, scores.expert_correct[:, 0])
    print(
        f"{surrogate}: system {right['system'].value:.1%}, machine alone {right['machine_alone'].value:.1%}, "
        f"expert alone {right['expert_alone'].value:.1%}, kept {right['coverage'].value:.1%}, ECE {error:.1%}"
    )
