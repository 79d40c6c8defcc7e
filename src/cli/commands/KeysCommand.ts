// `keys`: manages API keys. A key is printed once, when it is created.
import { Console, DateTime, Effect, Option, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import { ApiKeyId, CreateApiKey, Grant, RotateApiKey, UpdateApiKey } from "../../domain/access/ApiKey.ts"
import type { ApiKey, NewApiKey } from "../../domain/access/ApiKey.ts"
import * as Call from "../kit/Call.ts"
import * as Field from "../kit/Field.ts"
import { bodyConfig, Lifetime, readBody } from "../kit/Field.ts"
import * as Print from "../kit/Print.ts"
import type { ListColumns } from "../kit/Print.ts"
import { CommandFailed } from "../kit/Terminal.ts"
import * as Verb from "../kit/Verb.ts"

const moment = (at: DateTime.Utc | undefined) => (at === undefined ? undefined : DateTime.formatIso(at))

const columns: ListColumns<ApiKey> = {
  ID: ({ id }) => id,
  NAME: ({ name }) => name,
  SCOPES: ({ scopes }) => scopes.join(","),
  RELAYERS: ({ relayer_ids }) => relayer_ids?.join(",") ?? "all",
  EXPIRES: ({ expires_at }) => moment(expires_at),
  "LAST USED": ({ last_used_at }) => moment(last_used_at)
}

const list = Verb.list(columns, (client, query) => client.apiKeys.list({ query })).pipe(
  Verb.about("List API keys.", "keys list", "keys list --all --output json")
)

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

const expiry = Effect.fnUntraced(function* (at: Option.Option<string>, span: Option.Option<number>) {
  if (Option.isNone(span)) return at
  if (Option.isSome(at)) return yield* CommandFailed.usage("use --expires-in or --expires-at, not both")
  return Option.some(DateTime.formatIso(DateTime.add(yield* DateTime.now, { seconds: span.value })))
})

/** What can be changed later. */
const powers = {
  name: Field.text("name"),
  scopes: Field.many(Flag.Literals("scope", Grant.literals)),
  relayer_ids: Field.many(Flag.String("relayer")),
  expires_at: Field.text("expires_at"),
  "transaction_limits.max_value": Field.text("max_value"),
  "transaction_limits.max_fee_per_day": Field.text("max_fee_per_day"),
  "transaction_limits.receivers": Field.many(Flag.String("receiver")),
  "transaction_limits.solana.max_value": Field.text("solana_max_value"),
  "transaction_limits.solana.max_fee_per_day": Field.text("solana_max_fee_per_day"),
  "transaction_limits.solana.receivers": Field.many(Flag.String("solana-receiver")),
  "transaction_limits.stellar.max_value": Field.text("stellar_max_value"),
  "transaction_limits.stellar.max_fee_per_day": Field.text("stellar_max_fee_per_day"),
  "transaction_limits.stellar.receivers": Field.many(Flag.String("stellar-receiver"))
}

const create = Command.make(
  "create",
  {
    given: { ...Print.flags, quiet },
    expiresIn: Field.of("expires_in", Lifetime).pipe(
      Flag.withDescription("Lifetime, such as 12h or 30d (default: it never expires)")
    ),
    body: bodyConfig(
      CreateApiKey,
      {
        id: Field.text("id"),
        ...powers
      },
      {}
    )
  },
  Effect.fnUntraced(function* ({ given, expiresIn, body }) {
    const expires_at = yield* expiry(body.fields.expires_at, expiresIn)
    const payload = yield* readBody(CreateApiKey, { ...body, fields: { ...body.fields, expires_at } })
    return yield* show(given, (client) => client.apiKeys.create({ payload }))
  })
).pipe(
  Verb.about(
    "Create an API key and print it. It cannot be printed again.",
    "keys create --name ci --scope relayers:read --scope signers:read --expires-in 30d",
    "keys create --name payouts --scope 'relayers:*' --relayer payouts --quiet >payouts.key"
  )
)

const update = Verb.update(
  Verb.id(ApiKeyId),
  { schema: UpdateApiKey, fields: powers },
  (client, payload, { id, headers }) => client.apiKeys.update({ params: { key_id: id }, headers, payload })
).pipe(
  Verb.about(
    "Change an API key. Fields that are not named stay as they are; the key itself stays.",
    "keys update dashboard --scope relayers:read --scope transactions:read",
    `keys update shop --data '{"expires_at": null}'`
  )
)

const rotate = Command.make(
  "rotate",
  {
    given: { ...Print.flags, quiet },
    id: Verb.id(ApiKeyId),
    overlap: Field.of("overlap", Lifetime).pipe(
      Flag.withDescription("How long the previous key stays valid, such as 1h (default 1d); 0s: not at all")
    )
  },
  Effect.fnUntraced(function* ({ given, id, overlap }) {
    const body = { data: Option.none(), fields: { overlap_seconds: overlap }, secrets: {} }
    const payload = yield* readBody(RotateApiKey, body)
    return yield* show(given, (client) => client.apiKeys.rotate({ params: { key_id: id }, payload }))
  })
).pipe(
  Verb.about(
    "Replace an API key by a new one with the same id, name and scopes.",
    "keys rotate 0b5c… --overlap 1h --quiet >ci.key"
  )
)

const descendants = Flag.Boolean("descendants").pipe(
  Flag.withoutNegation,
  Flag.withDescription("Revoke also the keys that it has created, directly or through others"),
  Flag.withDefault(false)
)

const revoke = Verb.remove(
  { id: Verb.id(ApiKeyId), descendants },
  ({ id, descendants }) => `revoke the API key ${id}${descendants ? " and the keys that it has created" : ""}`,
  (client, { id, descendants }) => client.apiKeys.delete({ params: { key_id: id }, query: { descendants } })
).pipe(
  Verb.about(
    "Revoke an API key at once; asks first. Prints the keys that it has created and that stay valid.",
    "keys delete 0b5c… --yes",
    "keys delete 0b5c… --descendants"
  )
)

export const KeysCommand = Command.make("keys").pipe(
  Verb.about("API keys, which give callers access to the service.", "keys list", "keys create --name ci --scope '*'"),
  Command.withSubcommands([
    list,
    Verb.onOne("get", ApiKeyId, (client, id) => client.apiKeys.get({ params: { key_id: id } })).pipe(
      Verb.about("Get an API key without its secret.", "keys get 0b5c…")
    ),
    create,
    update,
    rotate,
    revoke
  ])
)
