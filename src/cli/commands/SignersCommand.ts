// `signers`: creates, lists, verifies and deletes signers, and replaces their logins. Private keys come from files, never from the command line.
import { Command } from "effect/cli"
import * as Verb from "../kit/Verb.ts"

/** Where a key is, and the login of the service there. The token file is one of the service, not of the caller. */
const shape = {
  nested: ["config", "config.service_account.private_key"],
  hidden: ["config.federated_token_file"]
}

export const SignersCommand = Command.make("signers").pipe(
  Verb.about("Signers: the private keys that relayers sign with.", "signers list", "signers verify hot-1"),
  Command.withSubcommands([
    Verb.list(
      "list",
      "signers.list",
      {
        ID: ({ id }) => id,
        TYPE: ({ type }) => type,
        EVM: ({ addresses }) => ("evm" in addresses ? addresses.evm : undefined),
        SOLANA: ({ addresses }) => ("solana" in addresses ? addresses.solana : undefined),
        STELLAR: ({ addresses }) => ("stellar" in addresses ? addresses.stellar : undefined)
      },
      ["signers list", "signers list --all --output json"]
    ),
    Verb.call("get", "signers.get", ["signers get hot-1"]),
    Verb.call(
      "create",
      "signers.create",
      [
        "signers create --id hot-1 --type plain",
        "signers create --id hot-2 --type plain --private-key-file <(pass show hot-2)",
        "signers create --id cold --type local --keystore-file cold.json --passphrase-file cold.pass",
        "signers create --id payouts --type aws_kms --region eu-west-1 --key-id alias/relayer-payouts",
        "signers create --id treasury --type google_cloud_kms --data @treasury.json",
        "signers create --id fees --type azure_key_vault --auth-type managed_identity --vault-url https://relayers.vault.azure.net --key-name fees"
      ],
      shape
    ),
    Verb.call(
      "replace-credentials",
      "signers.replaceCredentials",
      [
        "signers replace-credentials vault-1 --type vault --address https://vault.example.com --key-name relayer/hot-1 --role-id-file role-id --secret-id-file secret-id",
        "signers replace-credentials treasury --data @treasury.json"
      ],
      {
        ...shape,
        about: "Replace the login of a signer after it was rotated. The new login must lead to the same key."
      }
    ),
    Verb.call("verify", "signers.verify", ["signers verify hot-1"], {
      about: "Fetch the public key, sign a probe and verify the signature; exit code 1 if a step fails.",
      rows: ({ data: { steps } }) => [
        ["CURVE", "STEP", "STATUS", "WHY"],
        ...steps.map(({ curve, step, status, message }) => [curve, step, status, message])
      ],
      failure: ({ data }, id) => (data.verified ? undefined : `the signer ${id} could not be verified`)
    }),
    Verb.call("delete", "signers.delete", ["signers delete hot-1", "signers delete hot-1 --yes"], {
      about: "Delete a signer that no relayer uses; asks first. A key that the service stores is lost for good.",
      ask: ({ id }) => `delete the signer ${id} for good, with its key if the service stores it`
    })
  ])
)
