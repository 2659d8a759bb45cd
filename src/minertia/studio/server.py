"""The studio's HTTP interface: the page, a project's files, jobs and their results."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import FastAPI, HTTPException, Query, Request
from fastapi import Path as PathOf
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response, StreamingResponse
from fastapi.staticfiles import StaticFiles
from pydantic import FiniteFloat
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from minertia.identification.estimators import ESTIMATORS
from minertia.identification.problem.ladder import START
from minertia.io.documents import DocumentError, json_document
from minertia.io.errors import InputError, MinertiaError, one_line
from minertia.report.robot_views import frames_at, outline
from minertia.robot.effects import WORDS
from minertia.robot.files import bundled_robots, read_robot
from minertia.robot.robot import Robot
from minertia.studio.asked import (
    CampaignAsked,
    CampaignOf,
    JobAsked,
    JobName,
    Key,
    LabelAsked,
    PostureAsked,
    RobotAsked,
)
from minertia.studio.bindings import OF_CAMPAIGN, ProjectNow, reasons
from minertia.studio.child import JobLimits
from minertia.studio.jobs import DONE, RECORD, RUNNING, Busy, Job, Jobs, begin_loading
from minertia.studio.log_curves import part_of
from minertia.studio.options import without_nulls
from minertia.studio.project import CAMPAIGN, LOG_ENDINGS, Outdated, Project
from minertia.studio.recent import OpenedStudios, recent_projects
from minertia.studio.safety import PAGE_POLICY, Door, Doorkeeper, TooLarge, too_large
from minertia.studio.work import VIEW, WEB_CODE
from minertia.version import __version__

STATIC = Path(__file__).parent / "static"
STEPS = (
    "start",
    "robot",
    "excite",
    "data",
    "identify",
    "validate",
    "calibrate",
    "wrench",
    "control",
    "code",
    "fleet",
    "runs",
)
PAGES = {"report": "report.html", "excitation": "excitation.html", "rehearsal": "rehearsal.html", "fleet": "fleet.html"}
ROBOTLESS = ("propose", "wrench", "fleet")  # kinds that need none: headers, orientations of a sensor, records
CHECKED = ("identify",)  # kinds that a check of the same campaign must have passed
NOT_CURRENT = "NOT-CURRENT.txt"  # in an archive of a result of another robot, campaign or file
PAUSE, ALIVE = 0.05, 10.0  # s between two looks at a job, and between two signs of life
TEXT = (".c", ".h", ".py", ".m", ".md", ".txt", ".toml", ".json", ".csv", ".urdf", ".xml", ".mjcf", ".cuh", ".cu")

MinertiaFault = {400: {"description": "A sentence that says what is wrong"}, 404: {"description": "No such thing"},
                 409: {"description": "Not now"}, 413: {"description": "Too large"}}  # fmt: skip


def studio(folder: str | Path, *, door: Door | None = None, limits: JobLimits | None = None) -> Doorkeeper:
    """Application on a folder, with access control."""
    own = door or Door()
    return Doorkeeper(application(folder, limits=limits, largest=own.largest, is_here=bool(own.hosts)), own)


def application(
    folder: str | Path, *, limits: JobLimits | None = None, largest: int = Door.largest, is_here: bool = True
) -> FastAPI:
    """Application on a folder; largest: size limit of an upload [bytes], shown in the page.

    is_here: only this machine can reach it; recent projects are then offered.
    """
    project, others = Project(folder), OpenedStudios()
    jobs = Jobs(project, limits)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(begin_loading)
        yield
        await run_in_threadpool(jobs.close)
        await run_in_threadpool(others.close)

    app = FastAPI(
        title="minertia studio", version=__version__, docs_url=None, redoc_url=None,
        openapi_url="/api/openapi.json", lifespan=lifespan, responses=MinertiaFault,  # type: ignore[arg-type]
    )  # fmt: skip
    app.state.jobs = jobs
    _add_errors(app)
    _add_project(app, project, jobs, largest)
    _add_recent(app, project, others if is_here else None)
    _add_jobs(app, project, jobs)
    _add_results(app, project, jobs)
    _add_numbers(app, jobs)
    _add_page(app)
    return app


# ---------------------------------------------------------------------- errors


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(MinertiaError)
    async def told(request: Request, err: MinertiaError) -> JSONResponse:
        if isinstance(err, Outdated):
            return JSONResponse({"error": str(err), "revision": err.revision}, status_code=409)
        return JSONResponse({"error": str(err)}, status_code=409 if isinstance(err, Busy) else 400)

    @app.exception_handler(TooLarge)
    async def large(request: Request, err: TooLarge) -> Response:
        return too_large(err)

    @app.exception_handler(ClientDisconnect)
    async def cut(request: Request, err: ClientDisconnect) -> Response:
        return Response(status_code=400)  # nobody reads it; what had come of the file is gone

    @app.exception_handler(RequestValidationError)
    async def wrong(request: Request, err: RequestValidationError) -> JSONResponse:
        first = err.errors()[0]
        where = ".".join(str(part) for part in first.get("loc", ()) if part != "body")
        return JSONResponse({"error": one_line(f"{where}: {first.get('msg', 'not as it should be')}")}, status_code=422)

    @app.exception_handler(OSError)
    async def folder_gone(request: Request, err: OSError) -> JSONResponse:
        sentence = f"the project's folder cannot be used ({err.strerror or err.__class__.__name__}); is it still there?"
        return JSONResponse({"error": one_line(sentence)}, status_code=409)

    @app.exception_handler(HTTPException)
    async def plain(request: Request, err: HTTPException) -> JSONResponse:
        return JSONResponse({"error": str(err.detail)}, status_code=err.status_code)


# ---------------------------------------------------------------------- the project


def _add_project(app: FastAPI, project: Project, jobs: Jobs, largest: int) -> None:
    @app.get("/api/project")
    def get_project() -> dict[str, Any]:
        """Files of the folder, and available choices."""
        return {**project_view(project, jobs), "largest": largest}

    @app.get("/api/pulse")
    def get_pulse() -> dict[str, Any]:
        """Value that changes with everything the page shows of the folder, for polling."""
        return {"pulse": pulse(project, jobs)}

    @app.put("/api/robot")
    def put_robot(asked: RobotAsked) -> dict[str, Any]:
        """Choose the robot."""
        if (asked.bundled is None) == (asked.file is None):
            raise InputError("name either a bundled robot or a file of the folder")
        chosen = project.choose_robot(bundled=asked.bundled, file=asked.file, revision=asked.revision)
        return {**chosen, "revision": project.revision}

    _add_frames(app, project, jobs)
    _add_campaign(app, project, jobs)

    @app.get("/api/robots")
    def get_robots() -> dict[str, Any]:
        """Bundled robots, each with its title, its joints and the strokes of a small picture."""
        return {"robots": [bundled_view(name) for name in bundled_robots()]}

    _add_files(app, project)

    @app.post("/api/uploads")
    async def post_upload(
        request: Request,
        kind: Annotated[Literal["robot", "log", "mesh"], Query()],
        title: Annotated[str, Query(min_length=1, max_length=300)],
        mesh: Annotated[list[Key], Query(max_length=200)] = [],  # noqa: B006  (FastAPI copies it)
    ) -> dict[str, Any]:
        """Receive a file as the body of the request; it is created atomically under a random name."""
        upload = await run_in_threadpool(project.upload, kind, title, mesh)
        with upload.open() as file:
            async for part in request.stream():
                await run_in_threadpool(file.write, part)
        return (await run_in_threadpool(upload.close)).to_dict()


def _add_recent(app: FastAPI, project: Project, others: OpenedStudios | None) -> None:
    @app.get("/api/recent")
    def get_recent() -> dict[str, Any]:
        """Other projects that this user had open last; none for pages of other machines."""
        return {"projects": [] if others is None else recent_projects(project.folder)}

    @app.post("/api/recent/{key}")
    def post_recent(key: Key) -> dict[str, Any]:
        """Open the studio on a recent project; returns its address."""
        if others is None:
            raise HTTPException(404, "recent projects are opened on the machine of the studio only")
        return {"address": others.open(key)}


def _add_files(app: FastAPI, project: Project) -> None:
    @app.put("/api/files/{key}/label")
    def put_label(key: Key, asked: LabelAsked) -> dict[str, Any]:
        """Name a log, and tag it."""
        return project.label(key, asked.title.strip(), asked.tags).to_dict()

    @app.delete("/api/files/{key}")
    def delete_file(key: Key) -> dict[str, Any]:
        """Delete an uploaded log; one that was not uploaded is only hidden.  The campaign no longer uses it."""
        project.remove(key)
        return {"revision": project.revision}

    @app.post("/api/files/hidden")
    def post_hidden() -> dict[str, Any]:
        """Show hidden logs again."""
        project.show_hidden()
        return {"revision": project.revision}


def _add_frames(app: FastAPI, project: Project, jobs: Jobs) -> None:
    @app.post("/api/robot/frames")
    def post_frames(asked: PostureAsked) -> dict[str, Any]:
        """Frames of all joints at a posture, loops closed; only for a robot file that a job has read."""
        if not has_read(project, jobs):
            raise Busy("the robot has not been read yet; open the step Robot first")
        robot = _read(project.robot_name())
        if len(asked.q) != robot.n:
            raise InputError(f"the robot has {robot.n} coordinates, not {len(asked.q)}")
        return {"frames": frames_at(robot, asked.q)}


def _add_campaign(app: FastAPI, project: Project, jobs: Jobs) -> None:
    @app.put("/api/campaign")
    def put_campaign(asked: CampaignAsked) -> dict[str, Any]:
        """Change values of campaign.toml: null removes one, values that are not named are unchanged."""
        changes = asked.model_dump(by_alias=True, exclude_unset=True)
        project.write_campaign(changes, changes.pop("revision", None))
        return written()

    @app.post("/api/campaign/of")
    def post_campaign(asked: CampaignOf) -> dict[str, Any]:
        """Adopt the campaign that a job proposed from log headers, or the campaign of an earlier identification."""
        job = _known(jobs, asked.job)
        folder = jobs.folder(job.name)
        if job.kind == "propose":
            text = _proposed(_present(folder / VIEW))
        else:
            text = _present(folder / CAMPAIGN).read_bytes().decode("utf-8", errors="replace")
        project.take_campaign(text, asked.revision, is_proposal=job.kind == "propose")
        return written()

    def written() -> dict[str, Any]:
        check = Standing(project, jobs).passed_check()
        return {"campaign": project.campaign(), "check": check, "revision": project.revision}


@lru_cache(maxsize=64)
def bundled_view(name: str) -> dict[str, Any]:
    """A bundled robot as plain data, for a choice by pictures."""
    robot = read_robot(name, letters=False)
    row = {"name": name, "title": robot.name, "joints": robot.n_joints, "has_masses": robot.has_parameters}
    return {**row, "strokes": outline(robot)}


def project_view(project: Project, jobs: Jobs) -> dict[str, Any]:
    """A project as plain data."""
    campaign, error = None, None
    try:
        campaign = project.campaign()
    except MinertiaError as err:
        error = str(err)
    files, standing = project.files(), Standing(project, jobs)
    return {
        "name": project.name,
        "folder": str(project.folder),
        "version": __version__,
        "robot": project.robot,
        "bundled": list(bundled_robots()),
        "files": [file.to_dict() for file in files],
        "hidden": project.hidden,
        "stores": [{"key": store.key, "title": store.title} for store in project.stores()],
        "campaign": campaign,
        "campaign_error": error,
        "revision": project.revision,
        "pulse": pulse(project, jobs),
        "check": standing.passed_check(),
        "jobs": standing.views(),
        "log_endings": list(LOG_ENDINGS),
        "choices": {"estimators": list(ESTIMATORS), "effects": list(WORDS), "usual_effects": list(START)},
    }


def pulse(project: Project, jobs: Jobs) -> str:
    """Value that changes with everything that a page shows: files, campaign, robot, and states of jobs."""
    states = "".join(f"{job.name} {job.state} {job.title} {job.tags} " for job in jobs.all())
    return hashlib.sha256(f"{__version__} {project.pulse()} {states}".encode()).hexdigest()[:16]


class Standing:
    """Whether results are current: all jobs, compared with the project at one time."""

    def __init__(self, project: Project, jobs: Jobs) -> None:
        self.jobs, self.now = jobs, ProjectNow(project)
        self._known = {job.name: job for job in jobs.all()}
        self._stale: dict[str, list[str]] = {}

    def views(self) -> list[dict[str, Any]]:
        """All jobs, newest first, as plain data."""
        return [self.view(job) for job in self.jobs.all()]

    def view(self, job: Job) -> dict[str, Any]:
        """Job as plain data; stale: reasons why its result is not current."""
        return {**job.to_dict(), "stale": self.stale(job)}

    def stale(self, job: Job) -> list[str]:
        """Reasons why the result of a job is not current (robot, campaign or files changed); empty if it is."""
        if job.state != DONE:
            return []
        if job.name not in self._stale:
            self._stale[job.name] = []  # a run that says it is made of itself
            self._stale[job.name] = reasons(self.now, job.kind, job.made_of, self._of_run)
        return self._stale[job.name]

    def _of_run(self, name: str) -> list[str]:
        return self.stale(self._known[name]) if name in self._known else []

    def passed_check(self) -> str | None:
        """Name of the job that checked the current campaign without errors; None where there is none."""
        for job in self.jobs.all():
            if job.kind == "check" and job.state == DONE and not self.stale(job):
                return job.name if job.grade == "good" else None
        return None


def has_read(project: Project, jobs: Jobs) -> bool:
    """Whether the robot is bundled, or a job has read the current version of its file."""
    chosen = project.robot or {}
    read = [job.settings.get("robot") for job in jobs.all() if job.kind == "robot" and job.state == DONE]
    return "bundled" in chosen or chosen.get("version") in read


@lru_cache(maxsize=4)
def _read_at(name: str, changed: int) -> Robot:
    return read_robot(name, letters=False)


def _read(name: str) -> Robot:
    path = Path(name)
    return _read_at(name, path.stat().st_mtime_ns if path.is_file() else 0)


# ---------------------------------------------------------------------- jobs


def _add_jobs(app: FastAPI, project: Project, jobs: Jobs) -> None:
    @app.post("/api/jobs", status_code=202)
    def post_job(asked: JobAsked) -> dict[str, Any]:
        """Start a job; an identical running job is not started again."""
        kind, settings = asked.kind, without_nulls(asked.settings)
        if kind in CHECKED and Standing(project, jobs).passed_check() is None:
            raise Busy("the current campaign has not passed a check; run the check first")
        if kind not in ROBOTLESS:
            project.robot_name()  # says that none is chosen
        made_of = ProjectNow(project).made_of(kind)
        if kind == "robot":
            settings["robot"] = made_of["robot"]["version"]  # a result of another robot, or of an older file, is none
        digest = project.digest() if kind in OF_CAMPAIGN else str(made_of.get("robot", {}).get("version", ""))
        return {**jobs.start(kind, settings, digest, made_of).to_dict(), "stale": []}

    @app.get("/api/jobs/{name}")
    def get_job(name: JobName) -> dict[str, Any]:
        """State of a job."""
        return Standing(project, jobs).view(_known(jobs, name))

    @app.delete("/api/jobs/{name}")
    def delete_job(name: JobName, files: bool = False) -> dict[str, Any]:
        """Cancel a job, whose record is kept; files: delete one that has ended, with its files."""
        view = Standing(project, jobs).view(_known(jobs, name) if files else jobs.cancel(_known(jobs, name).name))
        if files:
            jobs.delete(name)
        return view

    @app.put("/api/jobs/{name}/label")
    def put_label(name: JobName, asked: LabelAsked) -> dict[str, Any]:
        """Name a run, and tag it."""
        return Standing(project, jobs).view(jobs.label(_known(jobs, name).name, asked.title.strip(), asked.tags))

    @app.get("/api/jobs/{name}/events", response_class=StreamingResponse)
    async def get_events(name: JobName, request: Request) -> StreamingResponse:
        """State changes of a job as server-sent events, until it ends."""
        job = _known(jobs, name)
        return StreamingResponse(_events(job, request), media_type="text/event-stream")


async def _events(job: Job, request: Request) -> AsyncIterator[str]:
    """Server-sent events of a job; a new result counts as current until the page requests it again."""
    told, quiet = -1, 0.0
    while True:
        if job.version != told:
            told, quiet = job.version, 0.0
            yield f"data: {json.dumps({**job.to_dict(), 'stale': []}, separators=(',', ':'))}\n\n"
        if job.state != RUNNING:
            return
        await asyncio.sleep(PAUSE)
        quiet += PAUSE
        if quiet > ALIVE:
            quiet = 0.0
            yield ": still here\n\n"
        if await request.is_disconnected():
            return


def _known(jobs: Jobs, name: str) -> Job:
    try:
        return jobs.get(name)
    except InputError as err:
        raise HTTPException(404, str(err)) from None


# ---------------------------------------------------------------------- results


def _add_results(app: FastAPI, project: Project, jobs: Jobs) -> None:
    @app.get("/api/jobs/{name}/view")
    def get_view(name: JobName) -> Response:
        """Data that the page shows of a finished job."""
        _known(jobs, name)
        return FileResponse(_present(jobs.folder(name) / VIEW), media_type="application/json")

    @app.get("/api/jobs/{name}/files")
    def get_files(name: JobName) -> dict[str, Any]:
        """Files of a job, by number."""
        _known(jobs, name)
        folder = jobs.folder(name)
        listed = enumerate(_written(folder))
        return {"files": [{"number": k, "name": n, "bytes": (folder / n).stat().st_size} for k, n in listed]}

    @app.get("/api/jobs/{name}/files/{number}")
    def get_file(name: JobName, number: int) -> Response:
        """File of a job; text can be viewed, all files can be saved."""
        _known(jobs, name)
        names = _written(jobs.folder(name))
        if not 0 <= number < len(names):
            raise HTTPException(404, "there is no such file")
        path = jobs.folder(name) / names[number]
        kind = "text/plain; charset=utf-8" if path.suffix in TEXT or path.name == "Makefile" else None
        return FileResponse(path, media_type=kind or "application/octet-stream", filename=path.name)

    @app.get("/api/jobs/{name}/pages/{page}")
    def get_page(name: JobName, page: Literal["report", "excitation", "rehearsal", "fleet"]) -> Response:
        """Page that a job wrote, in a sandbox without the studio's rights."""
        _known(jobs, name)
        path = _present(jobs.folder(name) / PAGES[page])
        return FileResponse(path, media_type="text/html", headers={"Content-Security-Policy": PAGE_POLICY})

    @app.get("/api/jobs/{name}/zip", response_class=Response)
    def get_zip(name: JobName, old: bool = False) -> Response:
        """All files of a job as a ZIP archive; for generated code, only the code.

        An outdated result is an error unless `old` is set; the archive is then marked by its name and a file.
        """
        why = Standing(project, jobs).stale(_known(jobs, name))
        if why and not old:
            raise Busy(f"{name} was {why[0]}, so it is out of date; run the job again")
        folder = jobs.folder(name)
        place = folder / "code" if (folder / "code").is_dir() else folder
        names = _written(place)
        if not names:
            raise HTTPException(404, "this job wrote no files")
        title = f"{name}-not-current" if why else name
        head = {"Content-Disposition": f'attachment; filename="{title}.zip"'}
        content = _archive(place, names, title, "".join(f"{name}: {one}\n" for one in why))
        return Response(content, media_type="application/zip", headers=head)


def _add_numbers(app: FastAPI, jobs: Jobs) -> None:
    @app.get("/api/jobs/{name}/model", response_class=Response)
    def get_model(name: JobName) -> Response:
        """The generated inverse dynamics as WebAssembly, for the page."""
        _known(jobs, name)
        return FileResponse(_present(jobs.folder(name) / WEB_CODE), media_type="application/wasm")

    @app.get("/api/jobs/{name}/curves/{log}")
    def get_curves(
        name: JobName,
        log: Annotated[int, PathOf(ge=0, le=1000)],
        signal: Literal["q", "qd", "effort", "command"],
        start: Annotated[FiniteFloat, Query()],
        end: Annotated[FiniteFloat, Query()],
        filtered: bool = False,
    ) -> dict[str, Any]:
        """Signal of a long log between two times [s], for zooming; filtered: also the low-pass filtered signal."""
        _known(jobs, name)
        wanted = (signal, f"{signal}_filtered") if filtered else (signal,)
        found = part_of(jobs.folder(name), log, wanted, (start, end))
        if found is None:
            raise HTTPException(404, "this part of the log is not stored; run the check again")
        return found


def _written(folder: Path) -> list[str]:
    """Names of a job's files relative to its folder, without internal files of the studio."""
    found = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    names = sorted(path.relative_to(folder).as_posix() for path in found)
    kept = (RECORD, VIEW, WEB_CODE)
    return [n for n in names if n not in kept and not n.startswith(".") and not n.startswith("curves-")]


def _archive(folder: Path, names: list[str], top: str, warning: str = "") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        if warning:
            archive.writestr(f"{top}/{NOT_CURRENT}", warning)
        for name in names:
            archive.write(folder / name, f"{top}/{name}")
    return buffer.getvalue()


def _proposed(view: Path) -> str:
    """Campaign that a job proposed."""
    try:
        return str(json_document(view.read_text(encoding="utf-8"))["text"])
    except (DocumentError, KeyError, TypeError):
        raise InputError("this proposal was made by an earlier version; propose columns again") from None


def _present(path: Path) -> Path:
    if not path.is_file():
        raise HTTPException(404, "this job has no such result")
    return path


# ---------------------------------------------------------------------- the page


def _add_page(app: FastAPI) -> None:
    def index() -> Response:
        return FileResponse(_present(STATIC / "index.html"), media_type="text/html")

    for path in ("/", *(f"/{step}" for step in STEPS), *(f"/{step}/{{rest:path}}" for step in STEPS)):
        app.get(path, include_in_schema=False)(index)
    if (STATIC / "assets").is_dir():
        app.mount("/assets", StaticFiles(directory=STATIC / "assets"))
