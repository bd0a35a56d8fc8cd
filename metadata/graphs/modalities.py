"""What goes into a model and what comes out: as the file denotes it, else as its task implies."""

from __future__ import annotations

# ONNX's TypeDenotation -> modality.
DENOTED = {"IMAGE": "image", "AUDIO": "audio", "TEXT": "text"}
# Task -> modalities of its inputs and of its outputs.
_TASKS = {
    "image > category": "image-classification zero-shot-image-classification",
    "image > image": "image-to-image image-segmentation mask-generation depth-estimation",
    "image > category region": "object-detection zero-shot-object-detection keypoint-detection",
    "image > text": "image-to-text",
    "image > features": "image-feature-extraction",
    "image text > text": "image-text-to-text visual-question-answering document-question-answering",
    "image > video": "image-to-video",
    "video > category": "video-classification",
    "video text > text": "video-text-to-text",
    "text > text": "text-generation translation summarization fill-mask question-answering",
    "text > category": "text-classification token-classification zero-shot-classification",
    "text > features": "feature-extraction sentence-similarity text-ranking",
    "text > image": "text-to-image",
    "text > audio": "text-to-speech text-to-audio",
    "text > video": "text-to-video",
    "text tabular > text": "table-question-answering",
    "audio > category": "audio-classification voice-activity-detection",
    "audio > text": "automatic-speech-recognition",
    "audio > audio": "audio-to-audio",
    "tabular > category": "tabular-classification",
    "tabular > number": "tabular-regression",
    "time-series > number": "time-series-forecasting",
    "graph > features": "graph-ml",
}
OF_TASK = {
    task: tuple(tuple(side.split()) for side in sides.split(" > "))
    for sides, tasks in _TASKS.items()
    for task in tasks.split()
}
EVERY = tuple(sorted({word for sides in OF_TASK.values() for side in sides for word in side}))
