// MiniStack, an emulator of AWS from PyPI, in a virtual environment of Python that is kept for the next run.
import {
  CreateAliasCommand,
  CreateKeyCommand,
  DisableKeyCommand,
  KMSClient,
  UpdateAliasCommand
} from "@aws-sdk/client-kms"
import { Context, Effect, Layer } from "effect"
import { execFile, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import * as path from "node:path"
import { promisify } from "node:util"
import type { Curve } from "../../src/domain/signer/Signer.ts"
import { freePort } from "../../testkit/process/Ports.ts"
import { until } from "../../testkit/process/Folder.ts"
import * as Environment from "../../testkit/signers/Environment.ts"

const tools = path.resolve(import.meta.dirname, "../../tools/ministack")

const python = ["python3", "python"].find((file) => spawnSync(file, ["-c", "import venv, ensurepip"]).status === 0)

const run = promisify(execFile)

const install = async (python: string) => {
  const home = path.join(tools, ".venv")
  const bin = (name: string) => path.join(home, "bin", name)
  await run(python, ["-m", "venv", home])
  const options = ["install", "--quiet", "--disable-pip-version-check", "-r", path.join(tools, "requirements.txt")]
  await run(bin("pip"), options)
  return bin("ministack")
}

/** The program. Undefined: this machine has no Python 3 with the module venv, or cannot install the package. */
export const program = python === undefined ? undefined : await install(python).catch(() => undefined)

/** Without `BIND_HOST` and with the broker of IoT, it would listen on all addresses. */
const start = Effect.fnUntraced(function* (file: string, port: number) {
  const environment = {
    PATH: process.env.PATH,
    BIND_HOST: "127.0.0.1",
    IOT_MTLS_ENABLED: "0",
    GATEWAY_PORT: String(port),
    SERVICES: "kms,sts,iam"
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => spawn(file, { env: environment, stdio: "ignore" })),
    (child) =>
      Effect.promise(() => {
        const ended = once(child, "close")
        child.kill()
        return ended
      })
  )
  const url = `http://127.0.0.1:${port}`
  const answers = Effect.promise(() =>
    fetch(url).then(
      () => true,
      () => undefined
    )
  )
  yield* until("MiniStack", answers)
  return url
})

export const region = "eu-west-1"

const specs = { secp256k1: "ECC_SECG_P256K1", ed25519: "ECC_NIST_EDWARDS25519" } as const

export class MiniStack extends Context.Service<
  MiniStack,
  {
    readonly url: string
    /** Makes a new key, to which the alias points from now on. Returns its id. */
    createKey(curve: Curve, alias: string): Effect.Effect<string>
    disableKey(id: string): Effect.Effect<void>
  }
>()("effect-relayer/test/ministack/MiniStack") {
  static readonly layer = Layer.effect(
    MiniStack,
    Effect.gen(function* () {
      const url = yield* start(program ?? "ministack", yield* freePort)
      const credentials = { accessKeyId: "operator", secretAccessKey: "operator" }
      const client = new KMSClient({ region, endpoint: url, credentials })
      yield* Effect.addFinalizer(() => Effect.sync(() => client.destroy()))
      yield* Environment.set({
        AWS_ENDPOINT_URL_KMS: url,
        AWS_ENDPOINT_URL_STS: url,
        AWS_EC2_METADATA_DISABLED: "true"
      })

      const aliases = new Set<string>()
      const createKey = (curve: Curve, alias: string) =>
        Effect.promise(async () => {
          const key = new CreateKeyCommand({ KeySpec: specs[curve], KeyUsage: "SIGN_VERIFY" })
          const TargetKeyId = (await client.send(key)).KeyMetadata?.KeyId ?? ""
          const target = { AliasName: alias, TargetKeyId }
          if (aliases.has(alias)) await client.send(new UpdateAliasCommand(target))
          else await client.send(new CreateAliasCommand(target))
          aliases.add(alias)
          return TargetKeyId
        })

      const disableKey = (KeyId: string) =>
        Effect.asVoid(Effect.promise(() => client.send(new DisableKeyCommand({ KeyId }))))

      return MiniStack.of({ url, createKey, disableKey })
    })
  )
}
