// Commands of the CLI, and a running service that they call, in the process of the test.
import { assert } from "@effect/vitest"
import { Cause, Console, Effect, FiberSet, Layer, Logger, Runtime, Semaphore } from "effect"
import * as fs from "node:fs/promises"
import * as net from "node:net"
import * as path from "node:path"
import { createInterface } from "node:readline"
import { format, parseEnv } from "node:util"
import { inject } from "vitest"
import * as Main from "../../src/cli/Main.ts"
import * as Serve from "../../src/process/Serve.ts"
import * as Settings from "../../src/process/settings/Settings.ts"
import * as Target from "../Target.ts"
import * as TestDatabase from "../TestDatabase.ts"
import { folder } from "./Folder.ts"
import * as Service from "./Service.ts"

const dotEnvIn = (home: string) =>
  Effect.promise(() => fs.readFile(path.join(home, ".env"), "utf8").catch(() => "")).pipe(Effect.map(parseEnv))

/** One command at a time: each has its working directory, which belongs to the process. */
const oneAtOnce = Semaphore.makeUnsafe(1)

const inFolder = (home: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const before = process.cwd()
      process.chdir(home)
      return before
    }),
    (before) => Effect.sync(() => process.chdir(before))
  )

/** What a command prints. */
const makeOutput = () => {
  const stdout: Array<string> = []
  const stderr: Array<string> = []
  const print =
    (lines: Array<string>) =>
    (...values: ReadonlyArray<unknown>) =>
      void lines.push(`${format(...values)}\n`)
  const [log, error] = [print(stdout), print(stderr)]
  const console: Console.Console = {
    ...globalThis.console,
    log,
    info: log,
    debug: log,
    trace: error,
    warn: error,
    error
  }
  return { console, stdout: () => stdout.join(""), stderr: () => stderr.join("") }
}

/** Runs a command in the process of the test, which takes a tenth of the time of a process. */
const runHere = Effect.fnUntraced(function* ({
  folder: home,
  env = { API_KEY: Service.apiKey },
  flags = []
}: Service.Options) {
  const output = makeOutput()
  const started: Main.Started = {
    args: flags,
    variables: { HOME: home, DATA_DIR: path.join(home, "data"), ...Service.programs, ...env },
    dotEnv: yield* dotEnvIn(home),
    isTerminal: false
  }
  yield* inFolder(home)
  const exit = yield* Effect.exit(Main.command(started)).pipe(Effect.provideService(Console.Console, output.console))
  const code = yield* Effect.callback<number>((resume) =>
    Runtime.defaultTeardown(exit, (code) => resume(Effect.succeed(code)))
  )
  return { code, stdout: output.stdout(), stderr: output.stderr() }
}, Effect.scoped)

/**
 * Runs a command to its end. A failure prints one line and no stack. `Service.run` does it in a process: only that shows signals,
 * pipes, locks and what a shell passes.
 */
export const ran = Effect.fnUntraced(function* (options: Service.Options) {
  const ended = yield* oneAtOnce.withPermits(1)(runHere(options))
  assert.notMatch(ended.stderr + ended.stdout, /^\s+at /m)
  if (ended.code === 0) return ended
  assert.match(ended.stderr, /^effect-relayer: /m)
  return ended
})

/** Runs in the place of `effect-relayer`: it sends the name of a folder with its arguments and its environment, and gets the exit code. */
const client = (place: string, port: number): string => `#!/usr/bin/env bash
call=$(mktemp -d '${place}/XXXXXX')
printf '%s\\0' "$PWD" "$@" > "$call/arguments"
env -0 > "$call/environment"
exec 3<> /dev/tcp/127.0.0.1/${port}
echo "$call" >&3
read -r code <&3
cat "$call/stdout"
cat "$call/stderr" >&2
exit "$code"
`

/** An exit code of no command. */
const broken = 70

const answer = (call: string) => {
  const read = (name: string) =>
    Effect.promise(async () => (await fs.readFile(path.join(call, name), "utf8")).split("\0").slice(0, -1))
  const write = (name: string, text: string) => Effect.promise(() => fs.writeFile(path.join(call, name), text))
  const end = ({ code, stdout, stderr }: Effect.Success<ReturnType<typeof ran>>) =>
    Effect.as(Effect.all([write("stdout", stdout), write("stderr", stderr)]), code)
  return Effect.gen(function* () {
    const [cwd = "", ...flags] = yield* read("arguments")
    const entries = (yield* read("environment")).map(
      (entry) => /^([^=]*)=([^]*)$/u.exec(entry)?.slice(1) ?? [entry, ""]
    )
    return yield* ran({ folder: cwd, flags, env: Object.fromEntries(entries) })
  }).pipe(
    Effect.catchCause((cause) => Effect.succeed({ code: broken, stdout: "", stderr: Cause.pretty(cause) })),
    Effect.flatMap(end)
  )
}

/**
 * A folder for the PATH of a shell, with an `effect-relayer` whose commands run in the process of the test. What the shell passes is real: the
 * folder, the environment, the arguments, and where the output goes.
 */
export const makeProgram = Effect.gen(function* () {
  const place = yield* folder
  const run = yield* FiberSet.makeRuntimePromise<never>()
  const server = net.createServer((socket) => {
    createInterface({ input: socket }).once("line", (call) => {
      void run(answer(call)).then((code) => socket.end(`${code}\n`))
    })
  })
  const { port } = yield* Target.listen(server)
  const file = path.join(place, "effect-relayer")
  yield* Effect.promise(async () => {
    await fs.writeFile(file, client(place, port))
    await fs.chmod(file, 0o755)
  })
  return place
})

/** Runs the service in the process of the test until the scope closes, which takes a tenth of the processor time of a process. */
export const serving = Effect.fnUntraced(function* (home: string, env: Record<string, string>) {
  const output = makeOutput()
  const defaults = { PORT: "0", DATA_DIR: path.join(home, "data"), WATCH: "off", ...Service.programs }
  const settings = yield* Settings.decode(env, defaults)
  yield* Layer.build(Serve.layer(settings, { isTerminal: false, misspelled: [] })).pipe(
    Effect.provideService(Console.Console, output.console),
    Effect.provide(Logger.layer([]))
  )
  const baseUrl = Service.printedUrl(output.stdout()) ?? assert.fail(`the service does not listen: ${output.stdout()}`)
  return { baseUrl, call: (at: string, call?: Service.Call) => Service.call(`${baseUrl}${at}`, call) }
}, Effect.orDie)

/** What commands need to call the service of `env`, in a folder of their own. */
const around = (home: string, env: Record<string, string>, baseUrl: string) => {
  const call = (flags: ReadonlyArray<string>, more: Record<string, string> = {}) =>
    ran({ folder: home, flags, env: { API_KEY: Service.apiKey, RELAYER_URL: baseUrl, ...more } })
  const output = (...flags: ReadonlyArray<string>) =>
    Effect.map(call(flags), ({ code, stdout, stderr }) => {
      assert.strictEqual(code, 0, stderr)
      return stdout
    })
  const write = (name: string, text: string) =>
    Effect.as(
      Effect.promise(() => fs.writeFile(path.join(home, name), text)),
      name
    )
  return { home, env, call, output, write }
}

const environment = (settings: Record<string, string>) =>
  Effect.map(TestDatabase.make, (database): Record<string, string> => ({
    ...Service.onServer(inject("postgres"), database),
    ...settings
  }))

/** A running service, and commands that call it. */
export const running = Effect.fnUntraced(function* (settings: Record<string, string> = {}) {
  const [home, env] = [yield* folder, yield* environment(settings)]
  const service = yield* serving(home, env)
  return { ...around(home, env, service.baseUrl), service }
})

/** The same with a service that is a process: only that can be stopped, and has a log. */
export const runningApart = Effect.fnUntraced(function* (settings: Record<string, string> = {}) {
  const [home, env] = [yield* folder, yield* environment(settings)]
  const service = yield* Service.listen({ folder: home, flags: ["serve"], env })
  return { ...around(home, env, service.baseUrl), service }
})
