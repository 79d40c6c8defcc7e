// `keys`: manages API keys. A key is printed once, when it is created.
import { Console, DateTime, Effect, Option, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import { CreateApiKey } from "../../domain/access/ApiKey.ts"
import type { NewApiKey } from "../../domain/access/ApiKey.ts"
import * as Call from "../kit/Call.ts"
import * as Contract from "../kit/Contract.ts"
import * as Field from "../kit/Field.ts"
import { Lifetime } from "../kit/Field.ts"
import * as Print from "../kit/Print.ts"
import { CommandFailed } from "../kit/Terminal.ts"
import * as Verb from "../kit/Verb.ts"

const moment = (at: DateTime.Utc | undefined) => (at === undefined ? undefined : DateTime.formatIso(at))

const quiet = Flag.Boolean("quiet").pipe(
  Flag.withAlias("q"),
  Flag.withoutNegation,
  Flag.withDescription("Print only the key"),
  Flag.withDefault(false)
)

/** Prints the key, which no later request returns. */
const show = Effect.fnUntraced(function* <E>(
  given: Print.OutputFlags & { readonly quiet: boolean },
  call: (client: Call.Client) => Effect.Effect<{ readonly data: NewApiKey }, E>
) {
  if (!given.quiet) return yield* Print.one(given, call)
  const run = yield* Call.open(given)
  const { value } = yield* run(call)
  return yield* Console.log(Redacted.value(value.data.key))
})

const expiry = Effect.fnUntraced(function* (at: Option.Option<unknown> | undefined, span: Option.Option<number>) {
  if (Option.isNone(span)) return at ?? Option.none()
  if (at !== undefined && Option.isSome(at)) {
    return yield* CommandFailed.usage("use --expires-in or --expires-at, not both")
  }
  return Option.some(DateTime.formatIso(DateTime.add(yield* DateTime.now, { seconds: span.value })))
})

/** What a key may do, which can be changed later. */
const powers = {
  nested: ["transaction_limits", "transaction_limits.solana", "transaction_limits.stellar"],
  flags: { relayer_ids: "relayer" }
}

const creating = Contract.call<{ readonly data: NewApiKey }>("apiKeys.create", powers)

const create = Command.make(
  "create",
  {
    given: { ...Print.flags, quiet },
    expiresIn: Field.of("expires_in", Lifetime).pipe(
      Flag.withDescription("Lifetime, such as 12h or 30d (default: it never expires)")
    ),
    target: creating.config
  },
  Effect.fnUntraced(function* ({ given, expiresIn, target }) {
    const expires_at = yield* expiry(target.fields["expires_at"], expiresIn)
    const request = yield* creating.request({ ...target, fields: { ...target.fields, expires_at } })
    return yield* show(given, (client) => creating.send(client, request))
  })
).pipe(
  Verb.about(
    "Create an API key and print it. It cannot be printed again.",
    "keys create --name ci --scope relayers:read --scope signers:read --expires-in 30d",
    "keys create --name payouts --scope 'relayers:*' --relayer payouts --quiet >payouts.key"
  )
)

const rotating = Contract.call<{ readonly data: NewApiKey }>("apiKeys.rotate", {
  flags: {
    overlap_seconds: Field.of("overlap", Lifetime).pipe(
      Flag.withDescription("How long the previous key stays valid, such as 1h (default 1d); 0s: not at all")
    )
  }
})

const rotate = Command.make(
  "rotate",
  { given: { ...Print.flags, quiet }, target: rotating.config },
  Effect.fnUntraced(function* ({ given, target }) {
    const request = yield* rotating.request(target)
    return yield* show(given, (client) => rotating.send(client, request))
  })
).pipe(
  Verb.about(
    "Replace an API key by a new one with the same id, name and scopes.",
    "keys rotate 0b5c… --overlap 1h --quiet >ci.key"
  )
)

export const KeysCommand = Command.make("keys").pipe(
  Verb.about("API keys, which give callers access to the service.", "keys list", "keys create --name ci --scope '*'"),
  Command.withSubcommands([
    Verb.list(
      "list",
      "apiKeys.list",
      {
        ID: ({ id }) => id,
        NAME: ({ name }) => name,
        SCOPES: ({ scopes }) => scopes.join(","),
        RELAYERS: ({ relayer_ids }) => relayer_ids?.join(",") ?? "all",
        EXPIRES: ({ expires_at }) => moment(expires_at),
        "LAST USED": ({ last_used_at }) => moment(last_used_at)
      },
      ["keys list", "keys list --all --output json"]
    ),
    Verb.call("get", "apiKeys.get", ["keys get 0b5c…"]),
    create,
    Verb.call(
      "update",
      "apiKeys.update",
      ["keys update dashboard --scope relayers:read --scope transactions:read", "keys update shop --expires-at ''"],
      { ...powers, like: CreateApiKey }
    ),
    rotate,
    Verb.call("delete", "apiKeys.delete", ["keys delete 0b5c… --yes", "keys delete 0b5c… --descendants"], {
      about: "Revoke an API key at once; asks first. Prints the keys that it has created and that stay valid.",
      ask: ({ id, query }) =>
        `revoke the API key ${id}${query["descendants"] === true ? " and the keys that it has created" : ""}`
    })
  ])
)
