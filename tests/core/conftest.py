"""One thread for torch: these tensors are small, and waiting for a second core costs more than it gives."""

import torch

torch.set_num_threads(1)
