// `signers`: creates, lists, verifies and deletes signers, and replaces their logins. Private keys come from files, never from the command line.
import { Effect } from "effect"
import { Command } from "effect/cli"
import { CreateSigner, ReplaceSignerCredentials } from "../../domain/signer/CreateSigner.ts"
import { SignerId } from "../../domain/signer/Signer.ts"
import type { Signer } from "../../domain/signer/Signer.ts"
import * as Field from "../kit/Field.ts"
import * as Print from "../kit/Print.ts"
import type { ListColumns } from "../kit/Print.ts"
import { CommandFailed, exitCodes } from "../kit/Terminal.ts"
import * as Verb from "../kit/Verb.ts"

const columns: ListColumns<Signer> = {
  ID: ({ id }) => id,
  TYPE: ({ type }) => type,
  EVM: ({ addresses }) => ("evm" in addresses ? addresses.evm : undefined),
  SOLANA: ({ addresses }) => ("solana" in addresses ? addresses.solana : undefined),
  STELLAR: ({ addresses }) => ("stellar" in addresses ? addresses.stellar : undefined)
}

const list = Verb.list(columns, (client, query) => client.signers.list({ query })).pipe(
  Verb.about("List signers with their addresses.", "signers list", "signers list --all --output json")
)

/** Where a key is. */
const places = {
  "config.api_public_key": Field.text("api_public_key"),
  "config.organization_id": Field.text("organization_id"),
  "config.private_key_id": Field.text("private_key_id"),
  "config.public_key": Field.text("public_key"),
  "config.vault_url": Field.text("vault_url"),
  "config.auth_type": Field.choice("auth_type", ["client_secret", "managed_identity", "workload_identity"]),
  "config.tenant_id": Field.text("tenant_id"),
  "config.client_id": Field.text("client_id"),
  "config.key_version": Field.text("key_version"),
  "config.address": Field.text("address"),
  "config.namespace": Field.text("namespace"),
  "config.key_name": Field.text("key_name"),
  "config.mount_point": Field.text("mount_point"),
  "config.pubkey": Field.text("pubkey"),
  "config.key_id": Field.text("key_id"),
  "config.module": Field.text("module"),
  "config.token_label": Field.text("token_label"),
  "config.token_serial": Field.text("token_serial"),
  "config.key_label": Field.text("key_label")
}

const withLogin = ["vault", "vault_transit", "pkcs11", "google_cloud_kms", "azure_key_vault", "turnkey"] as const

const fields = {
  id: Field.text("id"),
  type: Field.choice("type", ["plain", "local", "aws_kms", ...withLogin]),
  ...places,
  "config.region": Field.text("region")
}

const logins = {
  "config.role_id": Field.secret("role-id-file"),
  "config.secret_id": Field.secret("secret-id-file"),
  "config.api_private_key": Field.secret("api-private-key-file"),
  "config.client_secret": Field.secret("client-secret-file"),
  "config.pin": Field.secret("pin-file"),
  "config.service_account.private_key": Field.secret("service-account-private-key-file")
}

const secrets = {
  "config.key": Field.secret("private-key-file"),
  "config.keystore": Field.secret("keystore-file"),
  "config.passphrase": Field.secret("passphrase-file"),
  ...logins
}

const create = Verb.create({ schema: CreateSigner, fields, secrets }, (client, payload) =>
  client.signers.create({ payload })
).pipe(
  Verb.about(
    "Create a signer.",
    "signers create --id hot-1 --type plain",
    "signers create --id hot-2 --type plain --private-key-file <(pass show hot-2)",
    "signers create --id cold --type local --keystore-file cold.json --passphrase-file cold.pass",
    "signers create --id payouts --type aws_kms --region eu-west-1 --key-id alias/relayer-payouts",
    "signers create --id treasury --type google_cloud_kms --data @treasury.json",
    "signers create --id fees --type azure_key_vault --auth-type managed_identity --vault-url https://relayers.vault.azure.net --key-name fees"
  )
)

const verify = Command.make(
  "verify",
  { given: Print.flags, id: Verb.id(SignerId) },
  Effect.fnUntraced(function* ({ given, id }) {
    const { data } = yield* Print.one(
      given,
      (client) => client.signers.verify({ params: { signer_id: id } }),
      ({ data: { steps } }) => [
        ["CURVE", "STEP", "STATUS", "WHY"],
        ...steps.map(({ curve, step, status, message }) => [curve, step, status, message])
      ]
    )
    if (data.verified) return
    return yield* new CommandFailed({ message: `the signer ${id} could not be verified`, exitCode: exitCodes.refused })
  })
).pipe(
  Verb.about(
    "Fetch the public key, sign a probe and verify the signature; exit code 1 if a step fails.",
    "signers verify hot-1"
  )
)

const replaceCredentials = Verb.send(
  "replace-credentials",
  { id: Verb.id(SignerId) },
  { schema: ReplaceSignerCredentials, fields: { type: Field.choice("type", withLogin), ...places }, secrets: logins },
  (client, payload, { id }) => client.signers.replaceCredentials({ params: { signer_id: id }, payload })
).pipe(
  Verb.about(
    "Replace the login of a signer after it was rotated. The new login must lead to the same key.",
    "signers replace-credentials vault-1 --type vault --address https://vault.example.com --key-name relayer/hot-1 --role-id-file role-id --secret-id-file secret-id",
    "signers replace-credentials treasury --data @treasury.json"
  )
)

const remove = Verb.remove(
  { id: Verb.id(SignerId) },
  ({ id }) => `delete the signer ${id} for good, with its key if the service stores it`,
  (client, { id }) => client.signers.delete({ params: { signer_id: id } })
).pipe(
  Verb.about(
    "Delete a signer that no relayer uses; asks first. A key that the service stores is lost for good.",
    "signers delete hot-1",
    "signers delete hot-1 --yes"
  )
)

export const SignersCommand = Command.make("signers").pipe(
  Verb.about("Signers: the private keys that relayers sign with.", "signers list", "signers verify hot-1"),
  Command.withSubcommands([
    list,
    Verb.onOne("get", SignerId, (client, id) => client.signers.get({ params: { signer_id: id } })).pipe(
      Verb.about("Get a signer.", "signers get hot-1")
    ),
    create,
    replaceCredentials,
    verify,
    remove
  ])
)
