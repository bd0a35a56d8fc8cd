"""digits-cnn: a small convolutional network for 8x8 handwritten digits, made with PyTorch.

It learns from the rows of the data set, from the same rows rewritten, and from drawings
(`drawings`), so that it reads what strangers draw. The held-out rows took no part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import data
import drawings
import metrics
import model_files
import numpy as np
import torch
from torch import nn

if TYPE_CHECKING:
    from pathlib import Path

    import onnx

HYPERPARAMETERS = {
    "optimizer": "AdamW",
    "learning_rate": 0.002,
    "schedule": "one cycle",
    "weight_decay": 0.01,
    "batch_size": 64,
    "epochs": 15,
    "dropout": 0.25,
    "loss": "cross entropy",
}
# How often each row of the training part is rewritten, and how many drawings are added.
REWRITINGS, DRAWINGS = 4, 6000
IMAGE = {"Image.BitmapPixelFormat": "Gray8", "Image.NominalPixelRange": "Normalized_0_1"}
OPSET = 18
IR_VERSION = 8


class DigitsNet(nn.Module):
    """Two 3x3 convolutions, one pooling, two dense layers, softmax."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
        )
        self.classifier = nn.Sequential(
            nn.Linear(32 * 4 * 4, 64),
            nn.ReLU(),
            nn.Dropout(HYPERPARAMETERS["dropout"]),
            nn.Linear(64, 10),
        )

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        logits = self.classifier(self.features(pixels))
        # the loss wants logits, the people who load the model want probabilities
        return logits if self.training else logits.softmax(dim=1)


def _examples(split: data.Split) -> tuple[torch.Tensor, torch.Tensor]:
    """Pictures [rows, 1, 8, 8] and digits [rows]: rows, rewritten rows, and drawings."""
    rng = np.random.default_rng(data.SEED)
    rewritten = [
        drawings.rewritten(row[0], rng) for _ in range(REWRITINGS) for row in split.train_x
    ]
    digits = np.arange(DRAWINGS) % len(split.classes)
    drawn = [drawings.drawn(int(digit), rng) for digit in digits]
    x = np.concatenate([split.train_x, np.stack(rewritten + drawn)[:, np.newaxis]])
    y = np.concatenate([*[split.train_y] * (1 + REWRITINGS), digits])
    return torch.from_numpy(x), torch.from_numpy(y)


def _fit(split: data.Split) -> DigitsNet:
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(mode=True)
    torch.manual_seed(data.SEED)
    net = DigitsNet().train()
    x, y = _examples(split)
    size, epochs = HYPERPARAMETERS["batch_size"], HYPERPARAMETERS["epochs"]
    optimizer = torch.optim.AdamW(
        net.parameters(),
        lr=HYPERPARAMETERS["learning_rate"],
        weight_decay=HYPERPARAMETERS["weight_decay"],
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer,
        max_lr=HYPERPARAMETERS["learning_rate"],
        epochs=epochs,
        steps_per_epoch=-(-len(y) // size),
    )
    for _ in range(epochs):
        for batch in torch.randperm(len(y)).split(size):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x[batch]), y[batch]).backward()
            optimizer.step()
            schedule.step()
    return net.eval()


def _export(net: DigitsNet) -> onnx.ModelProto:
    program = torch.onnx.export(
        net,
        (torch.zeros(2, 1, 8, 8),),
        dynamo=True,
        input_names=["pixels"],
        output_names=["probabilities"],
        dynamic_shapes={"pixels": {0: torch.export.Dim("batch")}},
        opset_version=OPSET,
        verbose=False,
    )
    model = program.model_proto
    model_files.clean(
        model,
        name="digits-cnn",
        description="Small CNN for 8x8 handwritten digits; a sample model of the ONNX Model Hub.",
    )
    model_files.set_properties(model, IMAGE)
    denote_image(model)
    # what IR 10 adds to IR 8 was removed above, so older runtimes may load the file too
    model.ir_version = IR_VERSION
    return model


def denote_image(model: onnx.ModelProto) -> None:
    """Mark the input as an image, batch first: the image properties speak of such inputs."""
    kind = model.graph.input[0].type
    kind.denotation = "IMAGE"
    axes = ("DATA_BATCH", "DATA_CHANNEL", "DATA_FEATURE", "DATA_FEATURE")
    for axis, meaning in zip(kind.tensor_type.shape.dim, axes, strict=True):
        axis.denotation = meaning


def build(folder: Path) -> None:
    """Train, export, measure and write everything but the card."""
    split = data.digits()
    training: dict[str, object] = {}
    with model_files.stopwatch(training):
        net = _fit(split)
    with torch.no_grad():
        expected = net(torch.from_numpy(split.held_x)).numpy()
        first = net(torch.from_numpy(split.held_x[:1])).numpy()
    facts = model_files.save_model(_export(net), folder)
    facts["parameters"] = sum(weight.numel() for weight in net.parameters())
    pixels, name = split.held_x, "probabilities"
    model_files.save_test_data(folder, 0, [("pixels", pixels[:1])], [(name, first)])
    model_files.save_test_data(folder, 1, [("pixels", pixels)], [(name, expected)])
    model_files.save_lines(folder / "labels.txt", split.classes)
    model_files.save_lines(folder / "held_out_labels.txt", [str(y) for y in split.held_y])
    record = {
        "seed": data.SEED,
        "data": split.facts() | {"rewritings": REWRITINGS, "drawings": DRAWINGS},
        "hyperparameters": HYPERPARAMETERS,
        "training": training,
        "metrics": metrics.classification(split.held_y, np.asarray(expected)),
        "expected_outputs": "PyTorch, before the export",
        "tolerance": model_files.FLOAT_TOLERANCE,
        "model": facts,
    }
    model_files.save_record(
        folder, record, ["numpy", "onnx", "onnxscript", "pillow", "scikit-learn", "torch"]
    )
