// What the variables of Azure say about the machine: its identity endpoint, its identity, and its token files.
import { Effect, Redacted, Schema } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { metadataUrl } from "../../server/signers/backends/azure/AzureEnvironment.ts"
import type { AzureEnvironment } from "../../server/signers/backends/azure/AzureEnvironment.ts"
import type { Settings } from "./Settings.ts"

/** Bytes. Tokens have about two thousand. */
const longestToken = 16_384

/** A token can be sent in a form as it is. */
const isToken = Schema.is(Schema.String.check(Schema.isPattern(/^[\x21-\x7e]+$/u)))

const unreadable = "the token file cannot be read, or has no token"

const attempt = <A>(run: () => Promise<A>) => Effect.tryPromise({ try: run, catch: () => unreadable })

/**
 * Where the file is, if that is in the directory. Kubernetes replaces such files behind links, so the place of the file itself
 * counts.
 */
const within = (directory: string, file: string) =>
  attempt(async () => {
    const [folder, target] = await Promise.all([fs.realpath(directory), fs.realpath(file)])
    return target.startsWith(`${folder}${path.sep}`) ? target : undefined
  })

const read = Effect.fnUntraced(function* (file: string) {
  const { size } = yield* attempt(() => fs.stat(file))
  if (size > longestToken) return yield* Effect.fail(unreadable)
  const token = (yield* attempt(() => fs.readFile(file, "utf8"))).trim()
  return isToken(token) ? Redacted.make(token) : yield* Effect.fail(unreadable)
})

export const of = ({
  AZURE_TENANT_ID: tenantId,
  AZURE_CLIENT_ID: clientId,
  AZURE_FEDERATED_TOKEN_FILE: usual,
  AZURE_TOKEN_DIRECTORY: directory,
  IDENTITY_ENDPOINT: url,
  IDENTITY_HEADER: header
}: Settings): AzureEnvironment => ({
  metadataUrl,
  ...(url === undefined || header === undefined ? {} : { identityEndpoint: { url, header } }),
  ...(tenantId === undefined ? {} : { tenantId }),
  ...(clientId === undefined ? {} : { clientId }),
  tokenFile: Effect.fn("AzureMachine.tokenFile")(function* (given) {
    if (given === undefined) {
      return yield* usual === undefined
        ? Effect.fail("there is no token file: the request has none, and AZURE_FEDERATED_TOKEN_FILE is not set")
        : read(usual)
    }
    if (directory === undefined) return yield* Effect.fail("a token file needs the setting AZURE_TOKEN_DIRECTORY")
    const file = yield* within(directory, Redacted.value(given))
    return yield* file === undefined ? Effect.fail("the token file is not in AZURE_TOKEN_DIRECTORY") : read(file)
  })
})
