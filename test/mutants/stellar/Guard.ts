// Rules of the guard of stellar envelopes.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const source = "src/networks/stellar/rules"
const guards = "test/networks/stellar/chain"
const attacks = "docs/security/stellar.md: row"

export const guard: ReadonlyArray<Mutant> = [
  ...inFile(`${source}/Guard.ts`, [
    {
      name: "account-is-not-given-away",
      rule: "Operations that give the account away or end it are refused whatever the policy says.",
      source: `${attacks} 3`,
      before: "!neverAllowed.has(type) && (",
      after: "(",
      test: `${guards}/GuardOwn.test.ts`
    },
    {
      name: "other-operations-need-the-policy",
      rule: "Operations that lock or sell funds need the policy.",
      source: `${attacks} 6`,
      before: "(defaultOperations.has(type) || allowedOperations.includes(type))",
      after: "(defaultOperations.has(type) || allowedOperations.length >= 0)",
      test: `${guards}/GuardOwn.test.ts`
    },
    {
      name: "own-envelope-has-the-relayer-as-source",
      rule: "An envelope of the relayer has the relayer as its source.",
      source: `${attacks} 13`,
      before: "  ownSource,\n  ownOperationSource,\n  allowed,",
      after: "  ownOperationSource,\n  allowed,",
      test: `${guards}/GuardOwn.test.ts`
    },
    {
      name: "own-operations-act-for-the-relayer",
      rule: "An operation of the relayer acts for no other account.",
      source: `${attacks} 13`,
      before: "  ownSource,\n  ownOperationSource,\n  allowed,",
      after: "  ownSource,\n  allowed,",
      test: `${guards}/GuardOwn.test.ts`
    },
    {
      name: "users-pay-strategy",
      rule: "A relayer whose users pay sends nothing of its own.",
      source: `${attacks} 2`,
      before: "  strategy,\n  unsigned,",
      after: "  unsigned,",
      test: `${guards}/GuardOwn.test.ts`
    },
    {
      name: "own-envelope-is-unsigned",
      rule: "An envelope with signatures needs fee_bump.",
      source: `${attacks} 19`,
      before: "  strategy,\n  unsigned,",
      after: "  strategy,",
      test: `${guards}/GuardOwn.test.ts`
    },
    {
      name: "subentries-are-counted",
      rule: "Trust lines that an envelope adds are counted.",
      source: `${attacks} 8`,
      before: "  removedToken,\n  subentries\n",
      after: "  removedToken\n",
      test: `${guards}/GuardOwn.test.ts`
    },
    {
      name: "guest-source-is-foreign",
      rule: "An envelope of a user has no account of the service as its source.",
      source: `${attacks} 20`,
      before: "  signed,\n  foreignSource,\n",
      after: "  signed,\n",
      test: `${guards}/GuardBump.test.ts`
    },
    {
      name: "guest-operations-are-foreign",
      rule: "No operation of a user's envelope acts for an account of the service.",
      source: `${attacks} 21`,
      before: "  foreignOperationSource,\n  foreignSignatures,",
      after: "  foreignSignatures,",
      test: `${guards}/GuardBump.test.ts`
    },
    {
      name: "guest-is-not-signed-by-own",
      rule: "A user's envelope has no signature of an account of the service.",
      source: `${attacks} 22`,
      before: "if (signatures.some(({ address, isValid }) => isValid && own.has(address))) {",
      after: "if (signatures.some(({ address, isValid }) => !isValid && own.has(address))) {",
      test: `${guards}/GuardBump.test.ts`
    },
    {
      name: "guest-signature-fits",
      rule: "The signature of a user's envelope fits the network.",
      source: `${attacks} 28`,
      before: "return ofSource.some(({ isValid }) => !isValid)",
      after: "return ofSource.some(({ isValid }) => !isValid && isValid)",
      test: `${guards}/GuardBump.test.ts`
    },
    {
      name: "guest-fee-is-capped",
      rule: "A fee bump costs at most the cap.",
      source: `${attacks} 24`,
      before: "  foreignSignatures,\n  cap\n",
      after: "  foreignSignatures\n",
      test: `${guards}/GuardBump.test.ts`
    },
    {
      name: "guest-lives-shortly",
      rule: "A user's envelope must die soon.",
      source: `${attacks} 27`,
      before: "  timeBounds,\n  signed,",
      after: "  signed,",
      test: `${guards}/GuardBump.test.ts`
    },
    {
      name: "no-bump-of-a-bump",
      rule: "A fee bump of a fee bump is refused.",
      source: `${attacks} 35`,
      before: `if (envelope.kind === "v0") return refuse("xdr_kind", "the envelope has the format V0, which has no use any more")`,
      after: `if (envelope.kind === "v0") return refuse("xdr_signed", "the envelope has the format V0")`,
      test: `${guards}/GuardBump.test.ts`
    },
    {
      name: "signed-envelopes-live-shortly",
      rule: "sign-transaction signs no envelope that can be used for long.",
      source: `${attacks} 38`,
      before: "sign: [...ownRules, timeBounds, ownFee]",
      after: "sign: [...ownRules, ownFee]",
      test: `${guards}/GuardOwn.test.ts`
    },
    {
      name: "signed-envelopes-cost-the-cap",
      rule: "sign-transaction signs no envelope whose fee is above the cap.",
      source: `${attacks} 38`,
      before: "sign: [...ownRules, timeBounds, ownFee]",
      after: "sign: [...ownRules, timeBounds]",
      test: `${guards}/GuardOwn.test.ts`
    }
  ]),
  ...inFile(`${source}/Guard.ts`, [
    {
      name: "own-fee-covers-resources",
      rule: "The fee of an envelope of the relayer covers its resources.",
      source: `${attacks} 38`,
      before: "  paidResources,\n  ownSource,\n  ownOperationSource,\n  allowed,",
      after: "  ownSource,\n  ownOperationSource,\n  allowed,",
      test: `${guards}/GuardBump.test.ts`
    }
  ]),
  ...inFile(`${source}/Envelope.ts`, [
    {
      name: "own-accounts-authorize-nothing",
      rule: "Credentials that name an account of the service are refused.",
      source: `${attacks} 16`,
      before: "  authKind,\n  authOfOwn\n",
      after: "  authKind\n",
      test: `${guards}/GuardOwn.test.ts`
    },
    {
      name: "unknown-credentials-are-refused",
      rule: "Credentials of a kind that the guard does not know are refused.",
      source: `${attacks} 16`,
      before: "  authKind,\n  authOfOwn\n",
      after: "  authOfOwn\n",
      test: `${guards}/GuardBump.test.ts`
    },
    {
      name: "muxed-source-is-refused",
      rule: "The source is no muxed address.",
      source: `${attacks} 14`,
      before: "  muxedSource,\n",
      after: "",
      test: `${guards}/GuardOwn.test.ts`
    },
    {
      name: "unknown-preconditions-are-refused",
      rule: "Preconditions that make an envelope live on are refused.",
      source: `${attacks} 34`,
      before: "  preconditions,\n  resources,",
      after: "  resources,",
      test: `${guards}/GuardBump.test.ts`
    },
    {
      name: "calls-are-alone",
      rule: "A call of a contract is the only operation.",
      source: `${attacks} 18`,
      before: "  sorobanAlone,\n",
      after: "",
      test: `${guards}/GuardOwn.test.ts`
    }
  ]),
  ...inFile(`${source}/Guard.ts`, [
    {
      name: "authorizations-are-granted",
      rule: "An authorization that only the simulation asks for is not given.",
      source: `${attacks} 15`,
      before: "isOfService(entry, terms, isGuest) && !given.has(entry.xdr)",
      after: "isOfService(entry, terms, isGuest) && given.has(entry.xdr)",
      test: `${guards}/GuardOnChain.test.ts`
    },
    {
      name: "calls-below-take-what-the-key-may-send",
      rule: "Calls take no more than the key may send.",
      source: `${attacks} 17`,
      before: "return taken > maxValue",
      after: "return taken > maxValue * 1_000_000n",
      test: `${guards}/GuardChanges.test.ts`
    },
    {
      name: "reserves-are-those-of-the-network-for-keys",
      rule: "The value of a key counts the reserve that the network has voted.",
      source: `${attacks} 45`,
      before: "value > maxValue\n    ? changed(`the envelope",
      after: "value > maxValue * 1_000_000n\n    ? changed(`the envelope",
      test: `${guards}/GuardChanges.test.ts`
    },
    {
      name: "reserves-of-calls-count",
      rule: "A reserve that a call locks counts for the value of the key.",
      source: `${attacks} 45`,
      before: "lost(change) + locked(change, terms)",
      after: "lost(change)",
      test: `${guards}/GuardChanges.test.ts`
    },
    {
      name: "entries-of-calls-count",
      rule: "Entries that a call adds to the account are limited by the policy.",
      source: `${attacks} 45`,
      before: "return after.subentries > before.subentries && after.subentries > maxSubentries",
      after: "return after.subentries > before.subentries && after.subentries > maxSubentries + 1_000_000",
      test: `${guards}/GuardChanges.test.ts`
    },
    {
      name: "calls-create-no-accounts",
      rule: "A call creates no account with XLM of the relayer, unless the policy has the operation.",
      source: `${attacks} 46`,
      before: "    createdAccount(simulated, terms) ??\n",
      after: "",
      test: `${guards}/GuardChanges.test.ts`
    },
    {
      name: "calls-take-nothing-of-idle-accounts",
      rule: "A call takes nothing of an account of the service that does not act in it.",
      source: `${attacks} 47`,
      before: "address !== actor && (lost(change) > 0n ||",
      after: "address === address + actor && (lost(change) > 0n ||",
      test: `${guards}/GuardChanges.test.ts`
    },
    {
      name: "calls-end-no-account",
      rule: "A call ends no account of the service.",
      source: `${attacks} 47`,
      before: "if (after === undefined) return changed(`the call ends the account ${address}`)",
      after: "if (after === undefined) return undefined",
      test: `${guards}/GuardChanges.test.ts`
    },
    {
      name: "calls-change-no-signers",
      rule: "A call changes no signer and no threshold of an account of the service.",
      source: `${attacks} 47`,
      before: "if (after.rest !== before.rest)",
      after: "if (after.rest === undefined)",
      test: `${guards}/GuardChanges.test.ts`
    },
    {
      name: "tokens-of-users-stay",
      rule: "A call removes no trust line of a token that users pay with.",
      source: `${attacks} 47`,
      before: "createdAccount(simulated, terms) ??\n    tokenRemovedByCall(simulated, terms)",
      after: "createdAccount(simulated, terms)",
      test: `${guards}/GuardChanges.test.ts`
    },
    {
      name: "other-entries-are-refused",
      rule: "An entry that no call is known to change is refused.",
      source: `${attacks} 47`,
      before: `const other = changes.find(({ kind }) => kind === "unexpected")`,
      after: `const other = changes.find(({ kind }) => kind === "account" && kind !== "account")`,
      test: `${guards}/GuardChanges.test.ts`
    },
    {
      name: "assets-are-administered-by-the-policy",
      rule: "What the relayer may not do with its assets by operations, it may not do by their contracts.",
      source: `${attacks} 49`,
      before: "return !isAllowed && trees.some((tree) => has(tree, one))",
      after: "return !isAllowed && trees.length < 0 && trees.some((tree) => has(tree, one))",
      test: `${guards}/GuardChanges.test.ts`
    },
    {
      name: "hidden-changes-are-refused",
      rule: "A simulation that hides what a call changes of an account of the service is refused.",
      source: `${attacks} 48`,
      before: "if (unshown !== undefined) return unshown",
      after: "if (unshown?.detail === unreadable) return unshown",
      test: `${guards}/GuardChanges.test.ts`
    },
    {
      name: "unreadable-simulations-are-refused",
      rule: "A simulation with a part that cannot be read is refused.",
      source: `${attacks} 48`,
      before: "if (unreadable !== undefined) return changed(",
      after: "if (unreadable === changes.join()) return changed(",
      test: `${guards}/GuardChanges.test.ts`
    },
    {
      name: "declared-fee-fits-the-call",
      rule: "A user declares no fee of resources far above the simulated one.",
      source: `${attacks} 25`,
      before: "resourceFee !== undefined && isResourceFeeTooHigh(",
      after: "resourceFee === undefined && isResourceFeeTooHigh(0n * ",
      test: `${guards}/GuardOnChain.test.ts`
    },
    {
      name: "subentries-of-the-account-count",
      rule: "Trust lines are counted with those that the account has.",
      source: `${attacks} 8`,
      before: "return added > 0 && present + added > maxSubentries",
      after: "return added > 0 && added > maxSubentries",
      test: `${guards}/GuardOnChain.test.ts`
    },
    {
      name: "used-sequence-costs-nothing",
      rule: "Nothing is charged if the user has used the sequence.",
      source: `${attacks} 32`,
      before: `if (shown.every((one) => one >= sequence)) return "used"`,
      after: "",
      test: `${guards}/GuardOnChain.test.ts`
    }
  ]),
  ...inFile(`${source}/Envelope.ts`, [
    {
      name: "delegates-are-signers",
      rule: "An account of the service is no delegate in an authorization of somebody else.",
      source: `${attacks} 43`,
      before: "[credentials.address, ...credentials.delegates]",
      after: "[credentials.address]",
      test: `${guards}/GuardCredentials.test.ts`
    },
    {
      name: "trust-of-contracts-counts",
      rule: "A trust line that the contract of an asset makes is counted by what the relayer authorizes.",
      source: `${attacks} 45`,
      before: `call?.name === "trust" && call.args.length === 1`,
      after: `call?.name === "trust" && call.args.length === 0`,
      test: `${guards}/GuardChanges.test.ts`
    },
    {
      name: "only-assets-make-trust-lines",
      rule: "A function of another contract that is named trust makes no trust line.",
      source: `${attacks} 45`,
      before: "filter((contract) => assets.has(contract))",
      after: "filter((contract) => assets.has(contract) || contract.length > 0)",
      test: `${guards}/GuardChanges.test.ts`
    }
  ]),
  ...inFile("src/networks/stellar/chain/StellarDecoding.ts", [
    {
      name: "nested-delegates-are-read",
      rule: "The delegates of delegates are read.",
      source: `${attacks} 43`,
      before: "[meantBy(lib, address), ...delegatesIn(lib, nestedDelegates)]",
      after: "nestedDelegates.length < 0 ? [] : [meantBy(lib, address)]",
      test: `${guards}/GuardCredentials.test.ts`
    },
    {
      name: "decoded-envelope-belongs-to-its-network",
      rule: "An envelope that was decoded for one network is decoded anew for another one.",
      source: `${attacks} 43`,
      before: '`${Buffer.from(networkId).toString("latin1")}${text}`',
      after: '`${Buffer.from(networkId).toString("latin1").length}${text}`',
      test: `${guards}/StellarSignatures.test.ts`
    },
    {
      name: "decoded-envelope-is-read-by-its-reader",
      rule: "The signatures of an envelope that was decoded before are compared with the accounts that are known now.",
      source: `${attacks} 43`,
      before: "candidatesOf(hash, signatures, [plain.source.address, ...known])",
      after: "candidatesOf(hash, signatures, [plain.source.address, ...[...known].slice(0, 0)])",
      test: `${guards}/StellarSignatures.test.ts`
    }
  ]),
  ...inFile("src/networks/stellar/chain/StellarCalls.ts", [
    {
      name: "written-footprints-are-shown",
      rule: "Each account that a call may write is among the changes that its simulation shows.",
      source: `${attacks} 48`,
      before: "return shown.has(name) ? [] : [address]",
      after: "return shown.has(name) || address.length > 0 ? [] : [address]",
      test: `${guards}/GuardChanges.test.ts`
    }
  ]),
  ...inFile("src/networks/stellar/chain/StellarLooks.ts", [
    {
      name: "unknown-contracts-may-be-assets",
      rule: "A contract counts as one of an asset unless the chain says that it executes other code.",
      source: `${attacks} 45`,
      before: `val.instance.executable.type === "contractExecutableWasm"`,
      after: "val.instance.executable.type.length > 0",
      test: "test/networks/stellar/lane/CallTraces.test.ts"
    }
  ]),
  ...inFile("src/networks/stellar/lane/StellarPreparing.ts", [
    {
      name: "calls-are-judged-by-their-changes",
      rule: "What a call of the relayer changes is judged before the signature.",
      source: `${attacks} 45`,
      before: " ??\n    ownChanges(read, terms, { actor, maxValue })",
      after: " ??\n    (actor === maxValue ? ownChanges(read, terms, { actor, maxValue }) : undefined)",
      test: "test/networks/stellar/lane/CallTraces.test.ts"
    },
    {
      name: "users-act-for-no-own-account",
      rule: "In the envelope of a user no account of the service acts.",
      source: `${attacks} 47`,
      before: `const actor = isGuest || mode === "forward" ? undefined : terms.relayer`,
      after: `const actor = isGuest || mode === "forward" ? [...terms.own].at(-1) : terms.relayer`,
      test: "test/networks/stellar/lane/CallTraces.test.ts"
    }
  ]),
  ...inFile(`${source}/StellarTerms.ts`, [
    {
      name: "work-on-channels-is-exact",
      rule: "An envelope that makes or ends channels has exactly the operations of that work.",
      source: `${attacks} 3`,
      before: "if (wrong !== -1)",
      after: "if (wrong === -2)",
      test: `${guards}/GuardChannels.test.ts`
    }
  ])
]
