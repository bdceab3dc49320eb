"""Muon for char_gpt.py: an optimizer of the matrices between layers, for PyTorch before 2.9.

Its steps are not linear in the gradient: optim.algorithm=ed, which corrects steps, is refused. What
corrects gradients (gt) does so before the momentum and the matrix sign if the optimizer is handed
over: starling.attach(model, muon_and_adamw(...)).
"""
import torch


class Muon(torch.optim.Optimizer):
    """Steps along the momentum with all singular values near 1 (Jordan 2024,
    kellerjordan.github.io/posts/muon)."""

    def __init__(self, matrices, lr, momentum=0.95):
        super().__init__(matrices, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for matrix in group["params"]:
                state = self.state[matrix]
                moment = state.setdefault("momentum_buffer", torch.zeros_like(matrix))
                moment.mul_(group["momentum"]).add_(matrix.grad)
                direction = matrix.grad.add(moment, alpha=group["momentum"])
                scale = max(1.0, matrix.shape[0] / matrix.shape[1]) ** 0.5
                matrix.sub_(orthogonalised(direction), alpha=group["lr"] * scale)


def orthogonalised(matrix):
    """Singular values between .7 and 1.2 in place of its own, by five steps of Newton-Schulz."""
    wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    x = wide / (wide.norm() + 1e-7)
    for _ in range(5):
        square = x @ x.T
        x = 3.4445 * x + (2.0315 * square @ square - 4.7750 * square) @ x
    return x if wide is matrix else x.T


def muon_and_adamw(model, layers, muon_rate, rate):
    """Muon for the matrices of these layers, AdamW for the other parameters of the model."""
    matrices = [p for p in layers.parameters() if p.dim() == 2]
    others = [p for p in model.parameters() if all(p is not matrix for matrix in matrices)]
    return [torch.optim.AdamW(others, lr=rate), Muon(matrices, lr=muon_rate)]
