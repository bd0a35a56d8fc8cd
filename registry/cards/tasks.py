"""The domain of each Hugging Face task (pipeline_tag) that the hub knows."""

from __future__ import annotations

_TASKS = {
    "audio": "audio-classification audio-to-audio automatic-speech-recognition text-to-audio "
    "text-to-speech voice-activity-detection",
    "cv": "depth-estimation image-classification image-feature-extraction image-segmentation "
    "image-to-3d image-to-image image-to-video keypoint-detection mask-generation "
    "object-detection text-to-3d unconditional-image-generation video-classification "
    "video-to-video zero-shot-image-classification zero-shot-object-detection",
    "multimodal": "any-to-any audio-text-to-text document-question-answering image-text-to-text "
    "image-to-text text-to-image text-to-video video-text-to-text visual-document-retrieval "
    "visual-question-answering",
    "nlp": "feature-extraction fill-mask multiple-choice question-answering sentence-similarity "
    "summarization table-question-answering table-to-text text-classification text-generation "
    "text-ranking text-retrieval token-classification translation zero-shot-classification",
    "other": "graph-ml reinforcement-learning robotics",
    "tabular": "tabular-classification tabular-regression tabular-to-text time-series-forecasting",
}
TASKS_OF = {domain: tuple(tasks.split()) for domain, tasks in _TASKS.items()}
DOMAIN_OF = {task: domain for domain, tasks in TASKS_OF.items() for task in tasks}
