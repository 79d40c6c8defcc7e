// Runs the steps of deploy/Dockerfile without Docker: each stage is a folder, and each RUN a chroot. It checks what the last stage has, starts the service in
// it as the image would, and prints the sizes. As root: node tools/installs/rehearse.mjs BASE, where BASE is a Debian 12 of debootstrap. The Node of the
// base is that of package-lock.json, which is the one that the Dockerfile names.
import { execFileSync, spawn, spawnSync } from "node:child_process"
import fs from "node:fs"
import os from "node:os"
import path from "node:path"

const repository = path.resolve(import.meta.dirname, "../..")
const [base] = process.argv.slice(2)
if (base === undefined) throw new Error("usage: node tools/installs/rehearse.mjs BASE")

const root = "0:0"

/** Bytes of the image as a registry has it, compressed. */
const mostBytes = 250e6
const compilers = ["cc", "gcc", "g++", "clang", "make", "python3", "go", "rustc", "git"]

const work = fs.mkdtempSync(path.join(os.tmpdir(), "image-"))
const say = (line) => process.stdout.write(`${line}\n`)
const run = (command, ...args) => execFileSync(command, args, { stdio: ["ignore", "inherit", "inherit"] })
const demand = (holds, problem) => {
  if (!holds) throw new Error(problem)
}

/** The instructions, each on one line. */
const instructions = fs
  .readFileSync(path.join(repository, "deploy/Dockerfile"), "utf8")
  .replaceAll(/^#.*\n/gm, "")
  .replaceAll(/\\\n\s*/g, "")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => [line.slice(0, line.indexOf(" ")), line.slice(line.indexOf(" ") + 1)])

/** Files that let a build reach its registry, and are in no image. */
const lent = ["etc/resolv.conf", "etc/hosts", "root/.npmrc", "etc/ssl/certs/ca-certificates.crt"]

const chroot = (stage, command, { user = stage.user, extra = {} } = {}) => {
  const env = {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    HOME: user === root ? "/root" : "/home/node",
    ...stage.env,
    ...extra
  }
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  const inside = ["/usr/bin/env", "-i", ...variables, "/bin/sh", "-c", `cd ${stage.workdir} && ${command}`]
  return ["chroot", [`--userspec=${user}`, stage.folder, ...inside]]
}

const mounted = []
const mount = (stage) => {
  for (const name of ["proc", "dev"]) {
    const place = path.join(stage.folder, name)
    execFileSync("mount", ["--rbind", `/${name}`, place])
    execFileSync("mount", ["--make-rslave", place])
    mounted.push(place)
  }
}
const unmount = () => {
  for (const place of mounted.splice(0).toReversed()) execFileSync("umount", ["--recursive", "--lazy", place])
}

const copyIn = (folder, stage, sources, target) => {
  const to = path.join(stage.folder, path.resolve(stage.workdir, target))
  for (const source of sources) {
    const from = path.join(folder, source)
    const isFolder = fs.statSync(from).isDirectory()
    // As Docker: the content of a folder, and a file into a folder whose name ends with a slash.
    const place = !isFolder && (target.endsWith("/") || sources.length > 1) ? path.join(to, path.basename(source)) : to
    fs.mkdirSync(isFolder ? place : path.dirname(place), { recursive: true })
    run("cp", "--archive", "--no-target-directory", from, place)
  }
}

/** What Docker sends: the files of the commit. */
const context = path.join(work, "context")
fs.mkdirSync(context)
execFileSync("sh", ["-c", `git -C "${repository}" archive HEAD | tar -x -C "${context}"`])

const stages = new Map()
let stage
try {
  for (const [name, rest] of instructions) {
    say(`${name} ${rest}`)
    if (name === "FROM") {
      const [from, , as] = rest.split(" ")
      const parent = stages.get(from)
      const folder = path.join(work, as ?? "image")
      run("cp", "--archive", parent?.folder ?? base, folder)
      stage = { folder, workdir: parent?.workdir ?? "/", user: root, env: { ...parent?.env } }
      if (parent === undefined) {
        const node = path.join(repository, "node_modules/.bin/node")
        fs.copyFileSync(fs.realpathSync(node), path.join(folder, "usr/local/bin/node"))
        const npm = path.dirname(
          path.dirname(fs.realpathSync(execFileSync("which", ["npm"], { encoding: "utf8" }).trim()))
        )
        run("cp", "--archive", npm, path.join(folder, "usr/local/lib/npm"))
        fs.symlinkSync("../lib/npm/bin/npm-cli.js", path.join(folder, "usr/local/bin/npm"))
        run("chroot", folder, "useradd", "--create-home", "--uid", "1000", "node")
      }
      stages.set(as ?? "image", stage)
    } else if (name === "WORKDIR") {
      stage.workdir = path.resolve(stage.workdir, rest)
      fs.mkdirSync(path.join(stage.folder, stage.workdir), { recursive: true })
    } else if (name === "ENV" || name === "ARG") {
      const [variable, value] = rest.split("=")
      stage.env[variable] = value
    } else if (name === "USER") stage.user = rest
    else if (name === "COPY") {
      const words = rest.split(" ")
      const from = words[0].startsWith("--from=") ? stages.get(words.shift().slice("--from=".length)).folder : context
      copyIn(from, stage, words.slice(0, -1), words.at(-1))
    } else if (name === "RUN") {
      const given = lent.filter((file) => fs.existsSync(`/${file}`))
      const before = given.map((file) => {
        const place = path.join(stage.folder, file)
        const own = fs.existsSync(place) ? fs.readFileSync(place) : undefined
        fs.copyFileSync(`/${file}`, place)
        return () => (own === undefined ? fs.rmSync(place) : fs.writeFileSync(place, own))
      })
      mount(stage)
      const extra = Object.fromEntries(
        Object.entries(process.env).filter(([variable]) =>
          /^(https?_proxy|no_proxy|npm_config_registry|NODE_EXTRA_CA_CERTS)$/i.test(variable)
        )
      )
      const [command, args] = chroot(stage, rest, { extra })
      try {
        run(command, ...args)
      } finally {
        unmount()
        for (const restore of before) restore()
      }
    } else if (name === "ENTRYPOINT") stage.entrypoint = JSON.parse(rest)
    else if (name === "HEALTHCHECK") stage.check = JSON.parse(rest.slice(rest.indexOf("CMD ") + 4))
    else demand(["EXPOSE", "VOLUME", "STOPSIGNAL"].includes(name), `the rehearsal does not know ${name}`)
  }

  const { folder } = stage
  demand(/^[1-9]\d*:[1-9]\d*$/.test(stage.user), "the image runs as root, or as a user without a number")
  for (const name of compilers) {
    for (const place of ["usr/bin", "usr/local/bin"]) {
      demand(!fs.existsSync(path.join(folder, place, name)), `the image has ${place}/${name}`)
    }
  }
  const packed = (...names) =>
    Number(execFileSync("sh", ["-c", `tar -C "${folder}" -c ${names.join(" ")} | gzip | wc -c`], { encoding: "utf8" }))
  const own = packed("app", "data")
  const whole = packed("--exclude=./proc", "--exclude=./dev", ".")
  say(`compressed: ${Math.round(own / 1e6)} MB of the service, ${Math.round(whole / 1e6)} MB in all`)
  demand(whole <= mostBytes, `the image has more than ${mostBytes / 1e6} MB`)

  mount(stage)
  const port = "18080"
  const quote = (words) => words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ")
  const [command, args] = chroot(stage, `exec ${quote(stage.entrypoint)}`, { extra: { PORT: port, WATCH: "off" } })
  const service = spawn(command, args, { stdio: ["ignore", "inherit", "inherit"] })
  try {
    const [check, words] = chroot(stage, quote(stage.check), { extra: { PORT: port } })
    let status
    for (let second = 0; second < 60 && status !== 0 && service.exitCode === null; second++) {
      await new Promise((resolve) => setTimeout(resolve, 1000))
      status = spawnSync(check, words, { stdio: "ignore" }).status
    }
    demand(status === 0, "the service does not answer its health check")
    const [fetching, parts] = chroot(
      stage,
      `node -e 'fetch("http://127.0.0.1:${port}/api/v1/ready").then(async (answer) => console.log(answer.status, await answer.text()))'`
    )
    run(fetching, ...parts)
    const ended = new Promise((resolve) => service.once("exit", (code) => resolve(code)))
    service.kill("SIGTERM")
    const code = await ended
    demand(code === 0, `the service ended with ${code}`)
    say(`started as ${stage.user}, answered its health check, and stopped with 0`)
  } finally {
    service.kill("SIGKILL")
    unmount()
  }
} finally {
  unmount()
  fs.rmSync(work, { recursive: true, force: true })
}
