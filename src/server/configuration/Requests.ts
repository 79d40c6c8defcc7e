// The requests that make an object what a document says, with stored values in the places of secrets that stay.
import { Predicate, Redacted, Result, Schema } from "effect"
import type { Option } from "effect"
import { CreateApiKey } from "../../domain/access/ApiKey.ts"
import { CreateNetwork } from "../../domain/network/NetworkRequest.ts"
import { CreateNotification } from "../../domain/notification/Notification.ts"
import { CreateRelayer } from "../../domain/relayer/Relayer.ts"
import { CreateSigner, ReplaceSignerCredentials } from "../../domain/signer/CreateSigner.ts"
import { unmasked } from "../../domain/configuration/States.ts"
import type { FoundState, WantedState } from "../../domain/configuration/States.ts"
import type { WantedObject } from "../../domain/configuration/Wanted.ts"

type Members = { readonly [name: string]: unknown }

const membersOf = (value: unknown): Members => (Predicate.isObject(value) && !Array.isArray(value) ? value : {})

/** The members with another value at the path; undefined removes it. */
const withValue = (members: Members, [name, ...rest]: ReadonlyArray<string>, value: unknown): Members => {
  if (name === undefined) return members
  const next = rest.length === 0 ? value : withValue(membersOf(members[name]), rest, value)
  return Object.fromEntries(Object.entries({ ...members, [name]: next }).filter(([, member]) => member !== undefined))
}

/** `stored`: the secrets that the service has, by their paths. A key that is to be generated is left out. */
export const complete = ({ marks, request }: WantedObject, stored: ReadonlyMap<string, string>): Members => {
  let completed = request
  for (const [path, mark] of marks) {
    const secret = mark === "stored" ? stored.get(path) : undefined
    completed = withValue(completed, path.split("."), secret === undefined ? undefined : Redacted.make(secret))
  }
  return completed
}

/** What was decoded before has the type that its schema says. */
const typed = <S extends Schema.Constraint>(schema: S) => Schema.decodeUnknownSync(Schema.toType(schema))

const toNotification = typed(CreateNotification)

export const network = typed(CreateNetwork)
const relayer = typed(CreateRelayer)

/** A new relayer. The RPC URLs of one that is created again are those that are stored. */
export const createdRelayer = ({ request }: WantedObject, state: WantedState, found: FoundState | undefined) => {
  const { custom_rpc_urls } = Result.getOrElse(unmasked(state, found), () => state).fields
  return relayer({ ...request, ...(custom_rpc_urls === undefined ? {} : { custom_rpc_urls }) })
}

/** A relayer that exists. If the document does not manage its pause, the pause stays as it is. */
export const changedRelayer = ({ managesPaused, request }: WantedObject, found: FoundState | undefined) =>
  relayer({ ...request, ...(managesPaused ? {} : { paused: found?.fields["paused"] === true }) })

export const signer = typed(CreateSigner)
export const apiKey = typed(CreateApiKey)
export const notification = (members: Members): CreateNotification => {
  const { paused: _, ...request } = members
  return toNotification(request)
}

const isCredentials = Schema.decodeUnknownOption(Schema.toType(ReplaceSignerCredentials))

/** None: signers of the type have no login. */
export const credentials = ({ type, config }: Members): Option.Option<ReplaceSignerCredentials> =>
  isCredentials({ type, config })
