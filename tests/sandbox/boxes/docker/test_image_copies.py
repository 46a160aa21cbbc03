"""Tests of copies of images: the same program from other layers, removed with their image."""

import io
import subprocess
import tarfile

import pytest

from sandbox.attacks.harness.probing import answering
from sandbox.boxes.box import Program, ResourceLimits
from sandbox.boxes.docker.box import RELAY_IMAGE, DockerBox
from sandbox.boxes.docker.container_config import IsolatedProgram
from sandbox.boxes.docker.engine import Engine
from sandbox.boxes.docker.image_copies import PREFIX, ImageCopies, salt
from sandbox.boxes.docker.images import Images
from sandbox.image_reference import ImageReference

from ....patience import PATIENCE

pytestmark = [pytest.mark.slow]
NAME = "quarterturn-test-copies:latest"


@pytest.fixture
def image():
    """Make an image with variables, a folder and a program from the relay's, and remove it in the end."""
    steps = f"FROM {RELAY_IMAGE}\nENV ONE=1 TWO='two words $ONE'\nWORKDIR /deep\nENTRYPOINT [\"/relay\"]\n"
    build = ["docker", "build", "-q", "--network=none", "-t", NAME, "-"]
    subprocess.run(build, input=steps.encode(), capture_output=True, check=True)
    yield Images(Engine()).find(ImageReference.parse(NAME))
    subprocess.run(["docker", "image", "rm", "-f", NAME], capture_output=True, check=False)
    ImageCopies(Engine(), "sealed").remove_old()


def layers(name):
    said = subprocess.run(
        ["docker", "image", "inspect", "-f", '{{join .RootFS.Layers " "}}', name],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(said.stdout.split())


@pytest.mark.engine
def test_a_copy_shares_no_layer_and_starts_the_same_program(image):
    made = ImageCopies(Engine(), "sealed").of(image)
    other = ImageCopies(Engine(), "unofficial").of(image)
    assert not layers(made.files) & layers(image.id)
    assert not layers(made.files) & layers(other.files)
    assert (made.id, made.words(()), made.environment) == (image.id, image.words(()), image.environment)
    document = IsolatedProgram(made, made.words(()), 65534, ResourceLimits(), environment={"TWO": "ours"}).document()
    assert document["Image"] == made.files
    assert document["WorkingDir"] == "/deep"
    assert {"ONE=1", "TWO=ours"} <= set(document["Env"])
    assert ImageCopies(Engine(), "sealed").of(image).files == made.files, "made once"
    assert ImageCopies(Engine(), "open").of(image) == image


@pytest.mark.engine
def test_a_copy_goes_with_its_image(image):
    engine = Engine()
    ImageCopies(engine, "sealed").of(image)
    name = f"{PREFIX}sealed:{image.id.removeprefix('sha256:')}"
    assert name in engine.names(f"{PREFIX}*")
    ImageCopies(engine, "open").remove_old()
    assert name in engine.names(f"{PREFIX}*")
    subprocess.run(["docker", "image", "rm", "-f", NAME], capture_output=True, check=True)
    ImageCopies(engine, "open").remove_old()
    assert name not in engine.names(f"{PREFIX}*")


@pytest.mark.engine
def test_an_agent_of_a_sealed_run_has_the_variables_and_the_folder_of_its_image():
    code = "import os, pathlib; print(os.environ.get('PYTHONPATH'), pathlib.Path.cwd())"
    said = set()
    for run_class in ("open", "sealed"):
        box = DockerBox(run_class=run_class)
        with answering() as (sockets, _):
            agent = box.place(Program(command=("python3", "-c", code)), sockets, ResourceLimits()).start()
            agent.wait(PATIENCE)
            agent.kill()
        said.add(agent.output())
    assert said == {"/opt/packages /\n"}


def test_a_copys_first_file_is_random_closed_and_no_end_of_the_archive():
    one, other = salt(), salt()
    assert one != other
    assert len(one) == 1024
    with tarfile.open(fileobj=io.BytesIO(one + bytes(1024))) as tar:
        [entry] = tar.getmembers()
    assert (entry.mode, entry.size) == (0, 32)
