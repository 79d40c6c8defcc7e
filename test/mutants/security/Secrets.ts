// Rules about secrets, and about rows that direct how they are used.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const claims = "docs/security/tests.md"
const database = "docs/security/database.md"
const lostSecret = "docs/operate.md: a defect of an earlier version lost the secret"
const rotation = "docs/signers.md: a key that is rotated"
const serviceSecrets = "test/server/secrets/ServiceSecrets.test.ts"
const repair = "test/server/masterKey/RowRepair.test.ts"
const unreadable = "test/server/masterKey/UnreadableRows.test.ts"
const baseline = "test/sql/migrations/Baseline.test.ts"
const upgrade = "docs/upgrade.md: Databases from before schema 73"

export const secrets: ReadonlyArray<Mutant> = [
  ...inFile("src/server/secrets/Secrets.ts", [
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
  ...inFile("src/server/secrets/Secrets.ts", [
    {
      name: "secrets-are-stored-apart",
      rule: "A secret of the service stays if the transaction around its creation is rolled back.",
      source: lostSecret,
      before: `.pipe(apart, Effect.withSpan("Secrets.load"))`,
      after: `.pipe(Effect.withSpan("Secrets.load"))`,
      test: serviceSecrets
    },
    {
      name: "secrets-are-shared-apart",
      rule: "A shared secret stays if the transaction of its caller is rolled back.",
      source: lostSecret,
      before: "apart(stored(name, own))",
      after: "stored(name, own)",
      test: serviceSecrets
    },
    {
      name: "secrets-are-remembered-after-their-commit",
      rule: "A secret that was stored in the transaction of a caller is not remembered.",
      source: lostSecret,
      before: "Effect.map(stored(name, random()), Redacted.value)",
      after: "Effect.tap(Effect.map(stored(name, random()), Redacted.value), (value) => known.set(name, value))",
      test: serviceSecrets
    },
    {
      name: "lost-secret-is-stored-again",
      rule: "A secret that made rows is stored again if the database was put back to before it.",
      source: lostSecret,
      before: "const own = before === undefined ? random() : Redacted.make(before)",
      after: "const own = before === undefined ? random() : random()",
      test: serviceSecrets
    }
  ]),
  ...inFile("src/sql/Transaction.ts", [
    {
      name: "apart-is-another-connection",
      rule: "What runs apart is not part of the caller's transaction.",
      source: lostSecret,
      before: "(context: Context.Context<R>) => Context.omit(sql.transactionService)(context) as Context.Context<R>",
      after: "(context: Context.Context<R>) => context",
      test: serviceSecrets
    }
  ]),
  ...inFile("src/sql/migrations/Former.ts", [
    {
      name: "incomplete-list-is-not-taken-over",
      rule: "The baseline takes over no database that lacks one of the migrations that it replaced.",
      source: upgrade,
      before: `if (below.length === former.size) return "former"`,
      after: `if (below.some(({ id }) => id === baseline)) return "former"`,
      test: baseline
    },
    {
      name: "unknown-list-is-not-taken-over",
      rule: "The baseline takes over no database with a migration below it that no version made.",
      source: upgrade,
      before: "const isFormer = ({ id, name }: Applied) => former.get(id) === name",
      after: "const isFormer = ({ id, name }: Applied) => former.has(id) || former.get(id) === name",
      test: baseline
    },
    {
      name: "older-seals-are-not-taken-over",
      rule: "The baseline takes over no database whose secrets this version cannot open.",
      source: upgrade,
      before: "refusal: older === undefined ? undefined :",
      after: "refusal: older === undefined || older.length > 0 ? undefined :",
      test: baseline
    }
  ]),
  ...inFile("src/sql/backup/Restore.ts", [
    {
      name: "older-seals-are-not-restored",
      rule: "A backup whose secrets this version cannot open is not restored.",
      source: upgrade,
      before: "if (unreadable !== undefined)",
      after: "if (unreadable !== undefined && unreadable === String(header.schema))",
      test: "test/sql/backup/Backup.test.ts",
      only: "with secrets in a format of earlier versions are refused, and change nothing"
    }
  ]),
  ...inFile("src/server/masterKey/RowRepair.ts", [
    {
      name: "contradicted-row-is-not-repaired",
      rule: "The repair accepts no row that its seal or its signer contradicts.",
      source: `${claims}: the repair accepts no row that its evidence contradicts`,
      before: `verdict === "contradicts" || (verdict === "differs"`,
      after: `(verdict === "differs"`,
      test: repair
    },
    {
      name: "replaced-private-urls-are-not-repaired",
      rule: "The repair accepts no row whose private RPC URLs are not those that the service sealed.",
      source: `${claims}: the repair accepts no row that its evidence contradicts`,
      before: "Effect.forEach(row.sealed, (_, index) => urlsAt(authenticated, row, index))",
      after: "Effect.forEach(row.sealed.slice(0, 1), (_, index) => urlsAt(authenticated, row, index))",
      test: repair
    },
    {
      name: "urls-of-a-relayer-are-compared",
      rule: "The repair accepts no relayer whose RPC URLs are not those that the service sealed.",
      source: `${claims}: the repair accepts no row that its evidence contradicts`,
      before: "[yield* signerOf(row), ...(yield* urlsOf(authenticated, row))]",
      after: "[yield* signerOf(row)]",
      test: repair
    },
    {
      name: "row-that-the-audit-log-denies",
      rule: "The repair accepts no row without a seal of its own whose values differ from the audit log.",
      source: `${claims}: the repair accepts no row that its evidence contradicts`,
      before: `verdict === "contradicts" || (verdict === "differs" && about === "audit log" && !isProved)`,
      after: `verdict === "contradicts" || (about === "audit log" && isProved && verdict === "differs")`,
      test: repair
    },
    {
      name: "relayer-has-the-address-of-its-signer",
      rule: "The repair accepts no relayer whose address is not that of its signer.",
      source: `${claims}: the repair accepts no row that its evidence contradicts`,
      before: "return isEqual(addresses[String(network_type)], address)",
      after: "return isEqual(addresses, addresses) || isEqual(addresses, address)",
      test: repair
    },
    {
      name: "signer-of-a-repaired-relayer-is-sealed",
      rule: "The repair accepts no relayer whose signer was changed, too.",
      source: `${claims}: the repair accepts no row that its evidence contradicts`,
      before: `if ((yield* sealOf(signersTable, found.value)).verdict !== "proves") {`,
      after: `if ((yield* sealOf(signersTable, found.value)).verdict === "open") {`,
      test: repair
    },
    {
      name: "urls-are-the-masked-sealed-ones",
      rule: "The repair accepts no network whose shown RPC URLs are not the sealed ones.",
      source: `${claims}: the repair accepts no row that its evidence contradicts`,
      before: "return [isSame ? fits : contradicts]",
      after: "return [isSame ? fits : fits]",
      test: repair
    }
  ]),
  ...inFile("src/server/masterKey/RowRepair.ts", [
    {
      name: "row-is-repaired-as-it-was-listed",
      rule: "The repair accepts a row only with the fingerprint of what the operator has seen.",
      source: `${claims}: the repair accepts a row only as it was listed`,
      before: "if (current !== fingerprint) {",
      after: "if (current === undefined) {",
      test: repair
    },
    {
      name: "repair-is-recorded",
      rule: "Each repaired row is in the audit log, with its evidence.",
      source: "SECURITY.md: repair of rows",
      before: "yield* audit.record({ action, id, schema: AcceptedRow, after: { fingerprint, content, evidence } })",
      after: "",
      test: repair
    },
    {
      name: "repair-is-all-or-nothing",
      rule: "A repair of which one row is refused accepts none.",
      source: `${claims}: the repair accepts a row only as it was listed`,
      before: "transaction(Effect.forEach(decisions, acceptOne, { discard: true }))",
      after: "Effect.forEach(decisions, acceptOne, { discard: true })",
      test: repair
    }
  ]),
  ...inFile("src/server/masterKey/UnreadableRows.ts", [
    {
      name: "first-round-reads-all-rows",
      rule: "An instance knows all rows that cannot be verified after its first round.",
      source: `${claims}: a row that cannot be verified is reported without a read of it`,
      before: "isFirst || batches < batchesPerRound",
      after: "batches < batchesPerRound",
      test: unreadable,
      only: "finds all of them in its first round"
    },
    {
      name: "walk-goes-on-where-it-was",
      rule: "Rows that cannot be verified are found among more rows than a batch has.",
      source: `${claims}: a row that cannot be verified is reported without a read of it`,
      before: "const last = rows[batch - 1]\n    if (last === undefined) endTable",
      after: "const last = rows[batch]\n    if (last === undefined) endTable",
      test: unreadable,
      only: "finds all of them in its first round"
    }
  ]),
  ...inFile("src/server/attention/Attention.ts", [
    {
      name: "unreadable-rows-of-other-relayers",
      rule: "A narrowed key reads no names of rows of other relayers.",
      source: `${claims}: a row that cannot be verified is reported without a read of it`,
      before: "(relayerIds?.includes(id) ?? true)",
      after: "(relayerIds?.includes(id) !== undefined || id !== undefined)",
      test: unreadable,
      only: "is only named to callers that may read it"
    },
    {
      name: "unreadable-signers-need-their-scope",
      rule: "A key without `signers:read` reads no names of signers that cannot be verified.",
      source: `${claims}: a row that cannot be verified is reported without a read of it`,
      before: `table === "signers" ? signers : networks`,
      after: `table === "signers" ? signers || table.length > 0 : networks`,
      test: unreadable,
      only: "is only named to callers that may read it"
    }
  ]),
  ...inFile("src/server/secrets/Secrets.ts", [
    {
      name: "older-seals-do-not-open",
      rule: "Values of earlier formats do not open.",
      source: `${claims}: values of earlier formats do not open`,
      before: "isCurrentSeal(sealed) ? byId.get(keyIdOfSealed(sealed)) : undefined",
      after: "byId.get(keyIdOfSealed(sealed))",
      test: "test/server/secrets/Secrets.test.ts"
    }
  ]),
  ...inFile("src/server/secrets/Secrets.ts", [
    {
      name: "tag-is-checked",
      rule: "A sealed value with a changed byte does not open.",
      source: `${claims}: a sealed value opens only in its row`,
      before: "      decipher.final()\n",
      after: "",
      test: "test/server/secrets/Secrets.test.ts"
    }
  ]),
  ...inFile("src/server/secrets/Secrets.ts", [
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
  ...inFile("src/server/signers/backends/Vault.ts", [
    {
      name: "vault-signs-with-the-version-of-the-signer",
      rule: "After a rotation in Vault, the version with the public key of the signer signs.",
      source: rotation,
      before: "key_version: version",
      after: "key_version: 0",
      test: "test/server/signers/VaultTransit.test.ts"
    },
    {
      name: "vault-answers-with-the-version-of-the-signer",
      rule: "A signature of another version of a key in Vault is refused.",
      source: rotation,
      before: "answered === `v${version}`",
      after: "answered !== undefined",
      test: "test/server/signers/VaultTransit.test.ts"
    },
    {
      name: "vault-version-is-found-again-after-a-failure",
      rule: "After a failed signature, the version of a key in Vault is looked up again.",
      source: rotation,
      before: ".pipe(Effect.tapError(() => Cache.invalidate(versions, prepared)))",
      after: "",
      test: "test/server/signers/VaultTransit.test.ts"
    }
  ]),
  ...inFile("src/server/signers/Signers.ts", [
    {
      name: "new-login-leads-to-the-own-key",
      rule: "A new login leads to the key of the signer, although its name finds a newer one.",
      source: rotation,
      before: ".ofKey?.(request.config, before.config) ?? request.config",
      after: " === undefined ? request.config : request.config",
      test: "test/server/signers/remote/RotatedKeys.test.ts"
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
