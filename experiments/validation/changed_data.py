"""The program's data with some files changed, for runs with FORETRAIN_DATA."""
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = ("platforms", "models", "experiments", "calibration")


def write(folder, texts):
    """Makes `folder` the data: all files are links but those of `texts`, by their path from the root."""
    changed = {ROOT / path: text for path, text in texts.items()}

    def put(source, target):
        if source in changed:
            target.write_text(changed[source])
        elif any(source in path.parents for path in changed):
            target.mkdir()
            for part in source.iterdir():
                put(part, target / part.name)
        else:
            target.symlink_to(source)

    for room in ROOMS:
        put(ROOT / room, pathlib.Path(folder) / room)
