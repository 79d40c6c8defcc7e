// Rules of solana that keep instructions from draining the fee payer.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const source = "src/networks/solana/rules"
const tests = "test/networks/solana/rules"
const lanes = "test/networks/solana/lane"
const traces = "test/networks/solana/lane/README.md: trace"
const attacks = "docs/security/solana.md: attack"

export const guard: ReadonlyArray<Mutant> = [
  ...inFile(`${source}/Guard.ts`, [
    {
      name: "relayer-in-no-instruction",
      rule: "A prebuilt message that lists the relayer in an instruction is refused.",
      source: `${attacks} 1`,
      before: "if (index >= 0 && !maySpend(guarded)) {",
      after: "if (index >= 1e9 && !maySpend(guarded)) {",
      test: `${tests}/Guard.test.ts`
    },
    {
      name: "no-durable-nonce",
      rule: "Bytes with a durable nonce are refused, because they never die.",
      source: `${attacks} 9`,
      before: "  durableNonce,\n",
      after: "",
      test: `${tests}/Guard.test.ts`
    },
    {
      name: "no-table-loads-the-relayer",
      rule: "A lookup table must not load the relayer.",
      source: `${attacks} 22`,
      before: "return loaded.includes(guarded.terms.relayer)",
      after: "return loaded.includes(`no ${guarded.terms.relayer}`)",
      test: `${tests}/Guard.test.ts`
    },
    {
      name: "tables-hide-no-account",
      rule: "Accounts that tables load are compared with the lists of the policy.",
      source: `${attacks} 24`,
      before: "...(loaded === undefined || isRefusal(loaded) ? [] : loaded)]",
      after: "...(loaded === undefined || isRefusal(loaded) ? [] : [])]",
      test: `${tests}/Guard.test.ts`
    },
    {
      name: "fee-payer-is-the-relayer",
      rule: "The fee payer is the relayer.",
      source: `${attacks} 1`,
      before: "  feePayer,\n",
      after: "",
      test: `${tests}/Guard.test.ts`
    },
    {
      name: "version-1-has-limits",
      rule: "A message of version 1 that the service builds has no more accounts than the runtime takes.",
      source: "docs/security/solana.md: version 1",
      before: "  version1Limits,\n",
      after: "",
      test: `${tests}/Guard.test.ts`
    },
    {
      name: "budget-occurs-once",
      rule: "A price or a limit that occurs twice is refused.",
      source: `${attacks} 25`,
      before: "  wellFormed,\n",
      after: "",
      test: `${tests}/Guard.test.ts`
    },
    {
      name: "fee-is-capped",
      rule: "A fee above the cap is refused.",
      source: `${attacks} 26`,
      before: "return total > terms.maxFee",
      after: "return total > terms.maxFee * 1_000_000n",
      test: `${tests}/Guard.test.ts`
    },
    {
      name: "precompiles-claim-few-signatures",
      rule: "Precompiles may claim eight signatures at most.",
      source: `${attacks} 27`,
      before: "if (claimed > maxPrecompileSignatures) {",
      after: "if (claimed > 100 * maxPrecompileSignatures) {",
      test: `${tests}/Guard.test.ts`
    },
    {
      name: "programs-are-listed",
      rule: "Only programs of the policy are called.",
      source: "docs/security/solana.md: allowed_programs",
      before: "  programs,\n  accounts\n",
      after: "  accounts\n",
      test: `${tests}/Guard.test.ts`
    },
    {
      name: "receivers-are-listed",
      rule: "A key with receivers sends to no other one.",
      source: "docs/security/tests.md: a send is limited by the policy, and by the limits of its key",
      before: "receivers && spending.receivers.find((receiver) => !isListed(receiver, receivers, guarded.derivations))",
      after: 'receivers && spending.receivers.find((receiver) => receiver.token === "unnamed")',
      test: `${tests}/Guard.test.ts`
    },
    {
      name: "value-is-capped",
      rule: "A message spends at most what policy and key allow.",
      source: "docs/security/tests.md: a send is limited by the policy, and by the limits of its key",
      before: "spending.spent > maxSpent",
      after: "spending.spent > maxSpent * 1_000_000n",
      test: `${tests}/Guard.test.ts`
    },
    {
      name: "signatures-of-others-are-there",
      rule: "The signatures of other signers are there.",
      source: `${attacks} 31`,
      before: `if (index > 0) return refusal("signature_missing"`,
      after: `if (index > 1e9) return refusal("signature_missing"`,
      test: `${tests}/Guard.test.ts`
    },
    {
      name: "signatures-of-others-are-valid",
      rule: "The signatures of other signers are valid for the bytes.",
      source: `${attacks} 31`,
      before: "if (!verify(signature, messageBytes, key)) {",
      after: "if (!verify(signature, messageBytes, key) && index > 1e9) {",
      test: `${tests}/Guard.test.ts`
    }
  ]),
  ...inFile(`${source}/SolanaExchanges.ts`, [
    {
      name: "address-has-32-bytes",
      rule: "A text that is no address of 32 bytes is refused: the bytes would have the System program in its place.",
      source: "docs/solana.md: requests",
      before: "base58.test(text) && decodeBase58(text) !== undefined",
      after: "base58.test(text)",
      test: `${tests}/SendSolanaTransaction.test.ts`
    }
  ]),
  ...inFile(`${source}/Message.ts`, [
    {
      name: "only-version-1-is-long",
      rule: "A transaction of another version than 1 has the bytes of a packet at most.",
      source: "docs/security/solana.md: version 1",
      before: "(version === 1 ? version1.bytes : maxTransactionBytes)",
      after: "(version === 1 ? version1.bytes : version1.bytes)",
      test: `${tests}/Guard.test.ts`
    }
  ]),
  ...inFile(`${source}/Wire.ts`, [
    {
      name: "half-a-fee-is-no-fee",
      rule: "A configuration with one of the two bits of a fee is refused.",
      source: `${attacks} 29`,
      before: "if (fee !== 0 && fee !== configBits.priorityFee) reader.fail(",
      after: "if (fee > configBits.priorityFee) reader.fail(",
      test: `${tests}/Wire.test.ts`,
      only: "a configuration with half a fee"
    },
    {
      name: "configuration-is-known",
      rule: "A configuration with a value that is not known is refused, because nobody knows its size.",
      source: `${attacks} 34`,
      before: "if ((mask & ~knownBits) !== 0) reader.fail(",
      after: "if ((mask & ~knownBits) !== 0 && mask === 0) reader.fail(",
      test: `${tests}/Wire.test.ts`,
      only: "a configuration with half a fee"
    },
    {
      name: "later-versions-are-refused",
      rule: "A message of a version that the service does not know is refused.",
      source: `${attacks} 34`,
      before: "  if (version > highestVersion) return unsupported(version)\n  if (version === 0)",
      after: "  if (version > highestVersion + 1) return unsupported(version)\n  if (version === 0)",
      test: `${tests}/Wire.test.ts`,
      only: "bytes with two readings"
    }
  ]),
  ...inFile(`${source}/Programs.ts`, [
    {
      name: "version-1-costs-what-it-names",
      rule: "The fee of version 1 counts the lamports that its configuration names.",
      source: `${attacks} 26`,
      before: "total: lamportsPerSignature * BigInt(signatures) + priorityFee",
      after: "total: lamportsPerSignature * BigInt(signatures) + 0n * priorityFee",
      test: `${tests}/Guard.test.ts`
    },
    {
      name: "budgets-of-version-1-have-no-effect",
      rule: "Instructions of the compute budget have no effect in version 1.",
      source: `${attacks} 29`,
      before: "  version === 1\n    ? []",
      after: "  version === 1 && keys.length === 0\n    ? []",
      test: `${tests}/Guard.test.ts`
    },
    {
      name: "precompiles-cost",
      rule: "The fee counts the signatures that precompiles claim.",
      source: `${attacks} 28`,
      before: "const signatures = signers + claimed",
      after: "const signatures = signers + 0 * claimed",
      test: `${tests}/Guard.test.ts`
    }
  ]),
  ...inFile(`${source}/Spending.ts`, [
    {
      name: "unknown-programs-do-not-spend",
      rule: "An instruction of a program that nobody vouches for does not list the relayer.",
      source: `${attacks} O9`,
      before: "!Programs.shapedPrograms.has(program) && authority.programs.includes(program)",
      after: "!Programs.shapedPrograms.has(program)",
      test: `${tests}/Guard.test.ts`
    },
    {
      name: "vouched-programs-give-nothing-away",
      rule: "A program that the policy vouches for gives away no authority of loaders, stake and votes.",
      source: `${attacks} O9`,
      before: "kind !== undefined && (never[program] ?? []).includes(kind)",
      after: "kind === undefined && (never[program] ?? []).includes(0)",
      test: `${tests}/Guard.test.ts`
    }
  ]),
  ...inFile(`${source}/Spending.ts`, [
    {
      name: "relayer-stands-at-named-places",
      rule: "The relayer stands at the named places of an own instruction and at no other one.",
      source: `${attacks} O1`,
      before: "(account === relayer) === places.includes(index)",
      after: "(account === relayer) || !places.includes(index)",
      test: `${tests}/Guard.test.ts`
    }
  ]),
  ...inFile(`${source}/Spending.ts`, [
    {
      name: "transfer-has-no-byte-more",
      rule: "A transfer with a byte more is refused.",
      source: `${attacks} O1`,
      before: "u32At(data, 0) !== 2 || data.length !== 12 ||",
      after: "u32At(data, 0) !== 2 ||",
      test: `${tests}/Guard.test.ts`
    },
    {
      name: "transfer-counts-as-spent",
      rule: "A transfer of lamports counts as out and as spent.",
      source: `${attacks} 1`,
      before: "return { out: lamports, spent: lamports, receivers: [{ address: to }] }",
      after: "return { out: lamports, spent: 0n, receivers: [{ address: to }] }",
      test: `${tests}/Guard.test.ts`
    }
  ]),
  ...inFile(`${source}/Spending.ts`, [
    {
      name: "fee-accounts-stay-open",
      rule: "The account that receives what users pay is not closed.",
      source: `${attacks} O9`,
      before: "derivations.associated(relayer, mint, program) === closed",
      after: "derivations.associated(relayer, mint, program) === mint",
      test: `${tests}/Guard.test.ts`
    }
  ]),
  ...inFile(`${source}/Guard.ts`, [
    {
      name: "simulation-takes-what-is-declared",
      rule: "The simulation takes no lamport more than declared.",
      source: `${attacks} 36`,
      before: "if (before.lamports - after.lamports > allowed) {",
      after: "if (before.lamports - after.lamports > 2n * allowed) {",
      test: `${tests}/Guard.test.ts`
    },
    {
      name: "simulation-leaves-a-plain-account",
      rule: "The simulation leaves the relayer an account of the System program without data.",
      source: `${attacks} 3`,
      before: "if (after.owner !== systemProgram || after.dataBytes > 0) {",
      after: "if (after.dataBytes > 0) {",
      test: `${tests}/Guard.test.ts`
    },
    {
      name: "simulation-leaves-the-authority",
      rule: "The simulation leaves the relayer the power over its token accounts.",
      source: `${attacks} 11`,
      before: "closed.includes(address) : hasSameAuthorities(before, after)",
      after: "closed.includes(address) : after.amount >= 0n",
      test: `${tests}/Guard.test.ts`
    }
  ]),
  ...inFile(`${source}/Guard.ts`, [
    {
      name: "payment-is-worth-the-fee",
      rule: "A payment of a user counts only if it is worth the fee.",
      source: `${traces} 34`,
      before: "  amount >= least\n    ? undefined",
      after: "  amount >= 0n * least\n    ? undefined",
      test: `${lanes}/PaymentTraces.test.ts`,
      only: "34b: "
    },
    {
      name: "payment-goes-to-the-relayer",
      rule: "A payment of a user counts only if it goes to the account of the relayer.",
      source: `${traces} 34`,
      before: "&& associated(relayer, one.mint, program) === destination",
      after: "&& associated(relayer, one.mint, program) !== program",
      test: "test/networks/solana/rules/Payment.test.ts"
    },
    {
      name: "payment-is-not-taken-back",
      rule: "A payment counts only if the simulation leaves it to the relayer.",
      source: `${attacks} 36`,
      before: "account?.after !== undefined && account.after.amount - account.before.amount >= least",
      after: "account?.after !== undefined && account.after.amount - account.before.amount >= 0n * least",
      test: `${lanes}/PaymentTraces.test.ts`,
      only: "34d: "
    },
    {
      name: "payment-in-a-token-that-stays",
      rule: "A token whose issuer can take it back is no payment.",
      source: `${attacks} 36`,
      before: `one === "unknown" || !allowedExtensions.includes(one)`,
      after: `one === "unknown" && !allowedExtensions.includes("permanent_delegate")`,
      test: `${lanes}/PaymentTraces.test.ts`,
      only: "34e: "
    },
    {
      name: "payment-comes-from-the-user",
      rule: "A payment out of an account of the relayer does not count.",
      source: `${traces} 34`,
      before: `if (paying._tag !== "Token" || paying.owner === terms.relayer) {`,
      after: `if (paying._tag !== "Token") {`,
      test: `${lanes}/PaymentTraces.test.ts`,
      only: "34f: "
    }
  ]),
  ...inFile(`${source}/Programs.ts`, [
    {
      name: "other-programs-are-no-builtins",
      rule: "The fee of a price without a limit counts 200,000 units for an instruction of a program that is no builtin.",
      source: `${attacks} 26`,
      before: "? builtinComputeUnits : defaultComputeUnits",
      after: "? builtinComputeUnits : builtinComputeUnits",
      test: `${tests}/Guard.test.ts`
    },
    {
      name: "budget-instructions-are-whole",
      rule: "Instructions of the compute budget that the runtime does not read are refused.",
      source: "docs/solana.md",
      before: "data.length < (budgetBytes[data[0] ?? 0] ?? Number.POSITIVE_INFINITY)",
      after: "data.length < (budgetBytes[data[0] ?? 0] ?? 0) - 9",
      test: `${tests}/Guard.test.ts`
    }
  ]),
  ...inFile(`${source}/Message.ts`, [
    {
      name: "instructions-are-counted",
      rule: "A message with more instructions than the runtime takes is refused.",
      source: "docs/solana.md",
      before: "if (instructions.length > maxInstructions) {",
      after: "if (instructions.length > maxInstructions + 1) {",
      test: `${tests}/Guard.test.ts`
    }
  ]),
  ...inFile(`${source}/SolanaTerms.ts`, [
    {
      name: "own-instructions-are-simulated",
      rule: "Instructions that list the relayer cannot go without a simulation.",
      source: `${attacks} 36`,
      before: "  simulated,\n  simulatedPayment,",
      after: "  simulatedPayment,",
      test: `${tests}/SendSolanaTransaction.test.ts`
    },
    {
      name: "user-pays-by-prebuilt-transactions",
      rule: "A relayer whose users pay takes no instructions of its own.",
      source: `${attacks} 36`,
      before: "  simulatedPayment,\n  strategy,",
      after: "  simulatedPayment,",
      test: `${tests}/SendSolanaTransaction.test.ts`
    }
  ]),
  ...inFile("src/networks/solana/requests/SolanaIntake.ts", [
    {
      name: "prebuilt-spending-is-simulated",
      rule: "Prebuilt bytes that list the relayer cannot go without a simulation.",
      source: `${attacks} 36`,
      before: "request.simulate === false && listsFeePayer(draft.message)",
      after: "request.simulate === true && listsFeePayer(draft.message)",
      test: "test/networks/solana/requests/Sends.test.ts",
      only: "simulates everything that lists the relayer"
    }
  ])
]
