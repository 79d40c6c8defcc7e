// Rules of evm about many calls of one account, the delegation that makes them possible, and its two nonces.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const rules = "src/networks/evm/rules"
const test = "test/networks/evm/rules/Delegation.test.ts"
const calls = "test/networks/evm/rules/Batch.test.ts"
const checks = "test/networks/evm/chain/EvmDelegates.test.ts"
const watched = "test/networks/evm/chain/EvmDelegatesWatched.test.ts"
const api = "test/server/transactions/Delegations.test.ts"
const crashes = "test/server/lanes/BatchCrashes.test.ts"
const source = "docs/batches.md"

export const batch: ReadonlyArray<Mutant> = [
  ...inFile(`${rules}/Batch.ts`, [
    {
      name: "no-call-to-the-account-itself",
      rule: "A call of the account to itself would pass every list, because its executor makes whatever calls the data has.",
      source,
      before: `return includes("evm", [address], to)`,
      after: `return includes("evm", [], to)`,
      test: calls
    },
    {
      name: "no-call-to-the-zero-address",
      rule: "Executors read the zero address as the account itself.",
      source,
      before: "if (to.toLowerCase() === zeroAddress) {",
      after: `if (to === "") {`,
      test: calls
    },
    {
      name: "the-sum-of-values-is-limited",
      rule: "All calls together send at most the max_value of the API key.",
      source,
      before: "max_value !== undefined && valueOfCalls(calls) > max_value",
      after: "max_value !== undefined && (calls[0]?.value ?? 0n) > max_value",
      test: calls
    },
    {
      name: "each-receiver-is-in-the-policy",
      rule: "Each call is checked by the receivers of the policy.",
      source,
      before:
        'if (receivers !== undefined && !includes("evm", receivers, call.to)) {\n      return ofCall(index, "to", "is not in whitelist_receivers of the relayer\'s policy")',
      after:
        'if (index === 0 && receivers !== undefined && !includes("evm", receivers, call.to)) {\n      return ofCall(index, "to", "is not in whitelist_receivers of the relayer\'s policy")',
      test: calls
    },
    {
      name: "the-transaction-sends-no-value",
      rule: "The executor sends the values: the transaction to the account itself sends none.",
      source,
      before: ": { to: address, value: 0n, data: encodeExecute(calls) }",
      after: ": { to: address, value, data: encodeExecute(calls) }",
      test: calls
    }
  ]),
  ...inFile(`${rules}/Delegation.ts`, [
    {
      name: "nothing-behind-a-delegation",
      rule: "Nothing is signed behind a delegation before it is final.",
      source,
      before: `situation.rest.survey.delegation === "signed"`,
      after: `situation.rest.survey.delegation === "waiting"`,
      test
    },
    {
      name: "a-delegation-waits-for-quiet",
      rule: "A delegation is signed when nothing else of the lane has a nonce.",
      source,
      before: "isDelegation(situation.transaction) && others > 0",
      after: "isDelegation(situation.transaction) && others > 1",
      test
    },
    {
      name: "a-delegation-waits-for-its-plan",
      rule: "A delegation is not signed in one plan with others, which are in flight then.",
      source,
      before: "const others = Math.max(survey.placed ?? 0, inFlight)",
      after: "const others = inFlight > 1 ? inFlight : (survey.placed ?? 0)",
      test
    },
    {
      name: "calls-without-a-record-need-code",
      rule: "Many calls whose delegation is not recorded any more have no effect on an account without code.",
      source,
      before: "const isThere = needed === undefined ? found !== noCode",
      after: "const isThere = needed === undefined ? true",
      test
    },
    {
      name: "calls-wait-until-their-code-is-known",
      rule: "Calls are not signed while nobody knows the code of the account.",
      source,
      before: `if (code === undefined) return "unknown"`,
      after: `if (code === undefined) return "stands"`,
      test,
      only: "wait until the code of the account is known"
    },
    {
      name: "calls-without-code-fail",
      rule: "Calls of an account without the recorded code fail without a nonce.",
      source,
      before: `return isAwaited || count <= record.nonce + 1 ? "waits" : "missing"`,
      after: `return isAwaited || count <= record.nonce + 1 ? "waits" : "stands"`,
      test,
      only: "fail without a nonce if the account has no code"
    },
    {
      name: "calls-without-code-are-cleared",
      rule: "Calls in flight whose account has lost its code give their nonce to a no-op.",
      source,
      before: `return { clears: true, cause: cause("not_delegated") }`,
      after: `return { clears: false, cause: cause("not_delegated") }`,
      test,
      only: "in flight are cleared if the account has lost its code"
    },
    {
      name: "a-lagging-provider-fails-no-calls",
      rule: "A provider that has not seen the delegation yet does not end calls.",
      source,
      before: "return isAwaited || count <= record.nonce + 1 ?",
      after: "return isAwaited ?",
      test
    },
    {
      name: "a-changed-delegate-holds-calls",
      rule: "Calls are not signed after the delegate has changed.",
      source,
      before: `if (changeIn(lane) !== undefined) return "changed"`,
      after: `if (changeIn(lane) === "") return "changed"`,
      test
    },
    {
      name: "calls-wait-for-a-final-delegation",
      rule: "Calls are signed only if the delegation is final.",
      source,
      before: `return isAwaited && lane.accounts[0].settledSequence <= BigInt(record.nonce + 1) ? "waits" : "stands"`,
      after: `return "stands"`,
      test
    },
    {
      name: "calls-of-an-idle-lane-are-signed",
      rule: "Calls that come after a delegation do not wait for a final count, which an idle lane does not read.",
      source,
      before: `return isAwaited && lane.accounts[0].settledSequence <= BigInt(record.nonce + 1) ? "waits" : "stands"`,
      after: `return lane.accounts[0].settledSequence <= BigInt(record.nonce + 1) ? "waits" : "stands"`,
      test
    },
    {
      name: "a-record-belongs-to-its-generation",
      rule: "A delegation of a chain that is gone does not count.",
      source,
      before: "return record?.generation === generation ? record : undefined",
      after: "return record",
      test
    },
    {
      name: "status-without-code-means-nothing",
      rule: "A batch that met no code at its block fails, although its status is that of a success.",
      source,
      before: `return isThere ? undefined : finish({ state: "failed", cause: cause("not_delegated", { block }) })`,
      after: "return undefined",
      test
    },
    {
      name: "a-delegation-is-judged-by-the-code",
      rule: "A delegation is confirmed only by the code of the account.",
      source,
      before: "found !== noCode : found === needed",
      after: "found !== noCode : true",
      test
    },
    {
      name: "code-of-old-blocks-is-not-guessed",
      rule: "If nobody knows the code at the block, and the present one is another, nothing is decided.",
      source,
      before: `if (found === undefined) return "unknown"`,
      after: "if (found === undefined) return undefined",
      test
    },
    {
      name: "an-operator-is-asked-about-an-unknown-effect",
      rule: "A transaction whose effect no provider shows for two minutes is a question to an operator.",
      source,
      before: `code === "effect_unproven" || now >= until`,
      after: `code === "effect_unproven" && now >= until`,
      test
    },
    {
      name: "another-outage-is-no-unknown-effect",
      rule: "An operator is not asked about an effect before providers were asked for it for two minutes.",
      source,
      before: `(isSame ? figures.until : undefined) ?? now + statePatience`,
      after: `figures.until ?? now + statePatience`,
      test
    },
    {
      name: "a-doubted-effect-is-not-given-up",
      rule: "An operator cannot end a transaction as failed while a provider shows what it did.",
      source,
      before: "  if (doubt !== undefined) return hold(situation, cause(doubt, { block }))\n",
      after: "",
      test
    },
    {
      name: "an-unknown-effect-is-not-sent-again",
      rule: "A transaction that is in a block is not sent again, whatever an operator answers.",
      source,
      before: `    answer === "send"
      ? Result.fail(new TransactionConflict({ error: notSentAgain }))`,
      after: `    answer === "send" && transaction.restored
      ? Result.fail(new TransactionConflict({ error: notSentAgain }))`,
      test
    },
    {
      name: "the-nonces-after-calls-are-counted",
      rule: "A nonce after that of calls may have changed the code of the account.",
      source,
      before: "(isJudgedByCode(transaction, attempt) ? 2 : 1)",
      after: "2",
      test
    },
    {
      name: "a-free-second-nonce-is-filled",
      rule: "A second nonce that is free gets a no-op at once, because its authorization is valid for anybody.",
      source,
      before:
        'if (view.count < nonce) return hold(situation, cause("waits_for_delegation", { nonce, count: view.count }))',
      after:
        'if (view.count <= nonce) return hold(situation, cause("waits_for_delegation", { nonce, count: view.count }))',
      test
    },
    {
      name: "a-second-nonce-is-final-at-depth",
      rule: "A second nonce is final when the count at depth is above it.",
      source,
      before: "if (view.countAtFinal === undefined || view.countAtFinal <= nonce) return hold(situation, waits)",
      after: "if (view.count <= nonce) return hold(situation, waits)",
      test
    },
    {
      name: "a-second-nonce-is-proven-to-be-used",
      rule: "A second nonce ends when a block shows what used it, and not by the count of one provider.",
      source,
      before: 'if (view.taker === undefined) return [ask<Evm>({ _tag: "Foreign", nonce })]',
      after: "if (view.taker === undefined) return used",
      test
    },
    {
      name: "a-change-is-of-its-delegation",
      rule: "What was found about an earlier delegate does not hold calls of a later one.",
      source,
      before: "record !== undefined && watched?.sequence === BigInt(record.nonce) ? watched.changed : undefined",
      after: "record !== undefined ? watched?.changed : undefined",
      test
    }
  ]),
  ...inFile(`${rules}/DecideInFlight.ts`, [
    {
      name: "a-signed-delegation-has-no-deadline",
      rule: "A no-op at the nonce of a signed delegation would make its authorization valid for anybody.",
      source,
      before: "now < transaction.validUntil || isBound(transaction)",
      after: "now < transaction.validUntil",
      test
    },
    {
      name: "the-code-is-asked-for-before-a-batch-is-mined",
      rule: "The code at the block of a receipt is asked for while nodes have it.",
      source,
      before: "receipt.details.code === undefined && view.codeAt === undefined",
      after: 'receipt.details.code === "" && view.codeAt === undefined',
      test
    }
  ]),
  ...inFile(`${rules}/EvmRules.ts`, [
    {
      name: "a-signed-delegation-is-not-canceled",
      rule: "A cancel of a signed delegation is refused.",
      source,
      before: "if (isBound(transaction)) {",
      after: "if (transaction.restored) {",
      test
    },
    {
      name: "a-replacement-keeps-its-kind",
      rule: "Many calls are not replaced by a single one, nor a single call by many.",
      source,
      before: "if (isSameKind(transaction, request)) return []",
      after: "if (transaction.number > 0) return []",
      test
    },
    {
      name: "one-delegation-at-a-time",
      rule: "Two open delegations of an account exclude each other.",
      source,
      before: "delegate === undefined ? undefined : exclusiveDelegation",
      after: "delegate === undefined ? undefined : undefined",
      test
    }
  ]),
  ...inFile("src/networks/core/Queue.ts", [
    {
      name: "a-delegation-is-planned-alone",
      rule: "Nothing else is signed in the plan of a delegation.",
      source,
      before: "isLaneHeld: turn.isLaneHeld || isAlone,",
      after: "isLaneHeld: turn.isLaneHeld,",
      test
    }
  ]),
  ...inFile("src/networks/evm/chain/EvmDelegates.ts", [
    {
      name: "a-change-is-taken-back-by-two-providers",
      rule: "A provider that is stuck before an upgrade of an executor does not take back that it was changed.",
      source,
      before: "if (!differs && !isChanged) return Option.some(first)",
      after: "if (!differs) return Option.some(first)",
      test: watched
    },
    {
      name: "contradicting-looks-say-nothing",
      rule: "Two providers of which one shows a change say nothing about it together.",
      source,
      before: "others.find(({ difference }) => (difference !== undefined) === differs)",
      after: "others[0]",
      test: watched
    },
    {
      name: "a-provider-without-the-delegation-is-passed-over",
      rule: "A provider that is stuck before a delegation does not hide that its executor was changed.",
      source,
      before: "const others = answersIn(asked).filter(({ isSeen }) => isSeen)",
      after: "const others = answersIn(asked)",
      test: watched
    },
    {
      name: "the-next-provider-is-asked-for-a-delegation",
      rule: "If the first provider is stuck before a delegation, the next one is asked what the account runs.",
      source,
      before: "      if (!first.isSeen) {\n",
      after: "      if (!first.isSeen) return Option.none()\n      if (!first.isSeen) {\n",
      test: watched
    },
    {
      name: "an-open-executor-is-refused",
      rule: "A contract that executes calls for strangers is refused.",
      source,
      before: `if (strange._tag === "Returned")`,
      after: `if (strange._tag === "Returned" && own._tag === "Failed")`,
      test: checks
    },
    {
      name: "a-delegate-is-checked-at-two-providers",
      rule: "A single provider that lies does not make an account run code that anybody controls.",
      source,
      before: `if (second === "not_configured") return report`,
      after: `if (second !== undefined) return report`,
      test: checks
    },
    {
      name: "a-delegate-needs-a-second-answer",
      rule: "Without the answer of a second provider that is configured, no contract is accepted.",
      source,
      before: `no second provider takes state overrides").of("eth_call")
  }`,
      after: `no second provider takes state overrides").of("eth_call").pipe(Effect.orElseSucceed(() => report))
  }`,
      test: checks
    },
    {
      name: "overrides-are-proven",
      rule: "A provider that ignores overrides is not believed.",
      source,
      before: `if (answer._tag === "Returned" && answer.value === one) return`,
      after: `if (answer._tag === "Returned") return`,
      test: checks
    },
    {
      name: "a-proxy-has-to-be-accepted",
      rule: "A proxy is refused unless the caller accepts it.",
      source,
      before: "const proxy = !acceptsProxy && isProxy(code, state)",
      after: "const proxy = acceptsProxy && isProxy(code, state)",
      test: checks
    }
  ]),
  ...inFile("src/server/ledger/Accepting.ts", [
    {
      name: "a-delegation-is-audited",
      rule: "The audit log has a record of each change of a delegation, with the caller who made it.",
      source,
      before: "        ...accountChanges(stored, origin)\n",
      after: "",
      test: api
    }
  ]),
  ...inFile("src/server/transactions/Delegations.ts", [
    {
      name: "only-keys-for-all-relayers-delegate",
      rule: "A key that is limited to some relayers does not delegate.",
      source,
      before: "caller.relayerIds === undefined && caller.transactionLimits === undefined",
      after: "caller.transactionLimits === undefined",
      test: api
    },
    {
      name: "only-keys-without-limits-delegate",
      rule: "A key with limits does not delegate: the code of the account could do what they forbid.",
      source,
      before: "caller.relayerIds === undefined && caller.transactionLimits === undefined",
      after: "caller.relayerIds === undefined",
      test: api
    }
  ]),
  ...inFile("src/networks/evm/requests/EvmNonces.ts", [
    {
      name: "a-delegation-is-decided-by-keys-that-delegate",
      rule: "A key that may not delegate answers no nonce/resync for a delegation.",
      source,
      before: `    checkDecision: checkDelegation("transaction_id"),\n`,
      after: "",
      test: api
    },
    {
      name: "a-delegation-is-cleared-by-keys-that-delegate",
      rule: "A key that may not delegate clears no delegation.",
      source,
      before: `Effect.andThen(checkDelegation("from")(row), checkOwn(row))`,
      after: "checkOwn(row)",
      test: crashes
    }
  ]),
  ...inFile("src/networks/evm/lane/EvmDelegating.ts", [
    {
      name: "an-older-state-says-nothing-about-a-block",
      rule: "A state in which the account has not used the nonce of a transaction does not say what it did.",
      source,
      before: "return now > nonce && now <= count ? code",
      after: "return now <= count ? code",
      test: "test/networks/evm/lane/EvmDelegating.test.ts"
    },
    {
      name: "any-provider-proves-an-effect",
      rule: "An effect that another provider shows is not doubted because the first one does not show it.",
      source,
      before: "      if (second === expected) return { code: expected }\n",
      after: "",
      test: "test/networks/evm/lane/EvmDelegating.test.ts"
    },
    {
      name: "all-providers-are-asked-for-an-effect",
      rule: "A provider with a third code does not hide that the next one shows the effect.",
      source,
      before: "read, (other) => other === code || other === expected)",
      after: "read)",
      test: "test/networks/evm/lane/EvmDelegating.test.ts"
    },
    {
      name: "later-nonces-may-have-changed-the-code",
      rule: "The present code says nothing about an old block if the account has used nonces since.",
      source,
      before: "return now > nonce && now <= count ? code : yield* Effect.fromResult(then)",
      after: "return now > nonce ? code : yield* Effect.fromResult(then)",
      test: "test/networks/evm/lane/EvmDelegating.test.ts"
    }
  ]),
  ...inFile("src/networks/evm/lane/EvmPoll.ts", [
    {
      name: "account-code-is-read-with-each-poll",
      rule: "A delegation that comes while a lane lives is seen by the next poll.",
      source,
      before: "  const code = (yield* node.call(Calls.codeOf(lane.address))).toLowerCase()",
      after: "  const code = memory.accountCode?.code ?? (yield* node.call(Calls.codeOf(lane.address))).toLowerCase()",
      test: "test/server/lanes/RealNodes.test.ts"
    }
  ])
]
