// Rules about secrets, and about rows that direct how they are used.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const claims = "docs/security/tests.md"
const database = "docs/security/database.md"

export const secrets: ReadonlyArray<Mutant> = [
  ...inFile("src/server/secrets/Envelope.ts", [
    {
      name: "secret-is-bound-to-its-row",
      rule: "A sealed value opens only in its row.",
      source: `${claims}: a sealed value opens only in its row`,
      before: "JSON.stringify([table, id, column, ...bound])",
      after: "JSON.stringify([table, id.slice(0, 0), column, ...bound])",
      test: "test/server/secrets/Secrets.test.ts"
    },
    {
      name: "secret-is-bound-to-its-context",
      rule: "A sealed value opens only with the columns that it was sealed with.",
      source: `${database}: signers`,
      before: "context !== undefined ? [canonicalJson(context)] : []",
      after: "context !== undefined ? [canonicalJson({})] : []",
      test: "test/server/secrets/Secrets.test.ts"
    }
  ]),
  ...inFile("src/server/secrets/Keyring.ts", [
    {
      name: "older-seals-do-not-open",
      rule: "Values of older formats do not open after the upgrade.",
      source: `${claims}: values of older formats do not open after the upgrade`,
      before: "Envelope.isOlder(sealed) && !older ? undefined :",
      after: "Envelope.isOlder(sealed) && older ? undefined :",
      test: "test/server/secrets/Secrets.test.ts"
    }
  ]),
  ...inFile("src/server/secrets/NativeAead.ts", [
    {
      name: "tag-is-checked",
      rule: "A sealed value with a changed byte does not open.",
      source: `${claims}: a sealed value opens only in its row`,
      before: "      decipher.final()\n",
      after: "",
      test: "test/server/secrets/Secrets.test.ts"
    }
  ]),
  ...inFile("src/server/secrets/RowMacs.ts", [
    {
      name: "mac-is-compared",
      rule: "A row whose authenticated columns were changed is refused.",
      source: `${database}: relayers`,
      before: "mac !== null && isEqual(mac, expected)",
      after: "mac !== null && mac.length === expected.length",
      test: "test/databaseWriter.test.ts",
      only: "cannot show another address of a signer or a relayer"
    },
    {
      name: "mac-is-there",
      rule: "A row without a MAC is refused.",
      source: `${database}: relayers`,
      before: "mac !== null && isEqual(mac, expected)",
      after: "mac === null || isEqual(mac, expected)",
      test: "test/databaseWriter.test.ts"
    }
  ]),
  ...inFile("src/server/networks/NetworksRepo.ts", [
    {
      name: "networks-are-verified",
      rule: "A network that was changed in the database is refused.",
      source: `${database}: networks.definition`,
      before: "macs.verify(rowOf(String(id), String(definition)), String(mac))",
      after: "Effect.void",
      test: "test/databaseWriter.test.ts",
      only: "cannot lead a network to another chain"
    }
  ]),
  ...inFile("src/server/signers/SignerKeys.ts", [
    {
      name: "signers-are-verified",
      rule: "A signer that was changed in the database is refused.",
      source: `${database}: signers`,
      before: "Effect.as(macs.verify(rowOf(signer), mac), signer)",
      after: "Effect.as(Effect.void, mac === null ? signer : signer)",
      test: "test/databaseWriter.test.ts",
      only: "cannot show another address of a signer or a relayer"
    }
  ])
]
