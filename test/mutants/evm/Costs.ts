// Rules of evm about what a transaction may cost.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const source = "src/networks/evm/rules"
const tests = "test/networks/evm/rules"
const failures = "test/transactions-failures.md"

export const costs: ReadonlyArray<Mutant> = [
  ...inFile(`${source}/Decision.ts`, [
    {
      name: "funds-before-the-nonce",
      rule: "A transaction gets a nonce only if the balance covers it.",
      source: `${failures} 16`,
      before: "    unknown,\n    funds,\n    withoutGas\n",
      after: "    unknown,\n    withoutGas\n",
      test: `${tests}/DecidePendingCosts.test.ts`
    },
    {
      name: "reverting-call-gets-no-nonce",
      rule: "A call that reverts fails before it gets a nonce.",
      source: `${failures} 22`,
      before: "    unknown,\n    funds,\n    withoutGas\n",
      after: "    unknown,\n    funds\n",
      test: `${tests}/DecidePendingCosts.test.ts`
    },
    {
      name: "unestimated-call-ends-after-ten-minutes",
      rule: "A call that no node estimates ends after ten minutes.",
      source: `${failures} D1`,
      before: "if (now < until) return hold(situation, why)\n  return [finish",
      after: "if (now > 0) return hold(situation, why)\n  return [finish",
      test: `${tests}/DecidePendingCosts.test.ts`
    },
    {
      name: "unestimated-call-is-passed",
      rule: "A call that no node estimates holds no other transaction.",
      source: `${failures} D1`,
      before: "if (now < until) return hold(situation, why)\n  return [finish",
      after: 'if (now < until) return hold(situation, why, "relayer")\n  return [finish',
      test: `${tests}/Queue.test.ts`
    },
    {
      name: "silent-estimate-keeps-the-order-first",
      rule: "A call without an answer to its estimate keeps its turn for a while.",
      source: `${failures} D1`,
      before: "return situation.now - since < estimateGrace",
      after: "return situation.now < 0",
      test: `${tests}/DecidePendingCosts.test.ts`
    },
    {
      name: "key-limit-holds-its-own-alone",
      rule: "The spent limit of an API key holds no transaction of another key.",
      source: `${failures} D2`,
      before: `limit === "cap" ? "relayer" : "transaction"`,
      after: `"relayer"`,
      test: `${tests}/Queue.test.ts`
    },
    {
      name: "no-nonce-behind-what-every-node-refuses",
      rule: "No nonce is given behind bytes that every node refuses in words that nobody understands.",
      source: `${failures} D5`,
      before: "    behindRefused,\n",
      after: "",
      test: `${tests}/DecidePendingCosts.test.ts`
    },
    {
      name: "own-code-is-not-called",
      rule: "Data for the own address of an account with code is not signed.",
      source: `${failures} D4`,
      before: "    ownCall,\n",
      after: "",
      test: `${tests}/DecidePendingCosts.test.ts`
    },
    {
      name: "revert-has-a-second-opinion",
      rule: "A call that does not revert at a second provider is not failed.",
      source: `${failures} 22`,
      before: `if (estimate.second === "differs") {`,
      after: `if (situation.now < 0) {`,
      test: `${tests}/DecidePendingCosts.test.ts`
    },
    {
      name: "revert-waits-for-predecessors",
      rule: "A call that reverts waits while earlier transactions are in flight.",
      source: `${failures} B11`,
      before: `if (rest.inFlight > 0) return hold(situation, cause("waits_for_predecessors"), "relayer")`,
      after: "",
      test: `${tests}/DecidePendingCosts.test.ts`
    },
    {
      name: "window-bounds-what-is-in-flight",
      rule: "No transaction gets a nonce while the window is full.",
      source: `${failures} 25`,
      before: "    rows.windowFull,\n",
      after: "",
      test: `${tests}/DecidePending.test.ts`
    },
    {
      name: "cap-below-the-base-fee-holds",
      rule: "A transaction waits while the base fee is above its cap.",
      source: `${failures} 13`,
      before: "    priceAboveCap,\n",
      after: "",
      test: `${tests}/DecidePendingCosts.test.ts`
    },
    {
      name: "key-limit-bounds-the-first-price",
      rule: "The fees that are left to an API key bound the first price.",
      source: "docs/security/tests.md: the fee limit holds for what is only known when a transaction is signed",
      before: "if (feeLimit === undefined) return cap\n",
      after: "if (feeLimit === undefined || situation.now >= 0) return cap\n",
      test: `${tests}/DecidePendingCosts.test.ts`
    }
  ]),
  ...inFile(`${source}/EvmRules.ts`, [
    {
      name: "listed-calls-before-the-signature",
      rule: "A request whose call the policy does not list any more is not signed.",
      source: "docs/policies.md: selectors",
      before: "      isCallAllowed(request, terms) &&",
      after: "      (isCallAllowed(request, terms) || terms.isEip1559) &&",
      test: `${tests}/SendEvmTransaction.test.ts`
    }
  ]),
  ...inFile(`${source}/Admission.ts`, [
    {
      name: "own-account-calls-nothing",
      rule: "A list of selectors allows no data for the relayer's own address.",
      source: "docs/policies.md: selectors",
      before: `return data === "0x"\n`,
      after: `return data === "0x" || isCallListed(selectors, request)\n`,
      test: `${tests}/SendEvmTransaction.test.ts`
    }
  ]),
  ...inFile(`${source}/Costs.ts`, [
    {
      name: "estimate-above-its-limit-is-refused",
      rule: "A call that uses more gas than its limit is not sent, if its caller has the two compared.",
      source: "docs/api.md: gas limits",
      before: "return estimate.gas > gas_limit ?",
      after: "return estimate.gas < gas_limit ?",
      test: `${tests}/DecidePendingCosts.test.ts`
    },
    {
      name: "no-ops-are-kept-back",
      rule: "The price of two no-ops is kept back before a nonce is given.",
      source: `${failures} 18`,
      before: "noopsInReserve * maxFeesOf(",
      after: "0n * maxFeesOf(",
      test: `${tests}/Funds.test.ts`
    },
    {
      name: "funds-in-flight-are-reserved",
      rule: "The balance has to cover what is in flight as well.",
      source: `${failures} 16`,
      before: "const left = balance - reserved - required",
      after: "const left = balance - required",
      test: `${tests}/Funds.test.ts`
    },
    {
      name: "minimum-balance-stays",
      rule: "The minimum balance of the policy stays on the account.",
      source: `${failures} 16`,
      before: "minBalance > reserve ? minBalance : reserve",
      after: "minBalance > reserve ? reserve : reserve",
      test: `${tests}/Funds.test.ts`
    },
    {
      name: "impossible-payments-count-in-full",
      rule: "A receipt that says what cannot be paid counts as the most that was offered.",
      source: "docs/security/tests.md: the fee limit holds for what is only known when a transaction is signed",
      before: "if (isPrice && isGas) return receipt",
      after: "if (isPrice || isGas) return receipt",
      test: `${tests}/Funds.test.ts`
    }
  ]),
  ...inFile(`${source}/InFlight.ts`, [
    {
      name: "key-limit-bounds-a-higher-price",
      rule: "The fees that are left to an API key bound a higher price.",
      source: "docs/security/tests.md: a limit of fees holds for replacements",
      before: `price < ceiling.price ? { price, limit: "api_key" } : ceiling`,
      after: `price < 0n ? { price, limit: "api_key" } : ceiling`,
      test: `${tests}/SignaturesAndPrices.test.ts`
    },
    {
      name: "cap-bounds-a-higher-price",
      rule: "No signature offers more than the cap.",
      source: `${failures} 13`,
      before: "if (ceiling !== undefined && maxFeeOf(least) > ceiling.price) {",
      after: "if (ceiling !== undefined && ceiling.price < 0n) {",
      test: `${tests}/SignaturesAndPrices.test.ts`
    },
    {
      name: "replacement-is-above-the-former-price",
      rule: "A replacement offers at least the former fees and an eighth more.",
      source: `${failures} 12`,
      before: "atMost(atLeast(wanted.fees, least), ceiling?.price)",
      after: "atMost(wanted.fees, ceiling?.price)",
      test: `${tests}/SignaturesAndPrices.test.ts`
    },
    {
      name: "replacement-can-be-paid",
      rule: "A replacement is checked against the balance first.",
      source: `${failures} 17`,
      before: "return shortageOf(costOf({ ...wanted, fees }, wanted.value), budget)",
      after: "return shortageOf(0n * costOf({ ...wanted, fees }, wanted.value), budget)",
      test: `${tests}/SignaturesAndPrices.test.ts`
    }
  ]),
  ...inFile(`${source}/Market.ts`, [
    {
      name: "both-fees-are-raised",
      rule: "A bump raises both fees.",
      source: `${failures} 11`,
      before: "{ maxFee: raise(maxFee), tip: raise(tip) }",
      after: "{ maxFee: raise(maxFee), tip }",
      test: `${tests}/Fees.test.ts`
    }
  ]),
  ...inFile(`${source}/EvmNumbers.ts`, [
    {
      name: "bump-by-an-eighth",
      rule: "A bump is an eighth, because reth refuses exactly a tenth.",
      source: `${failures} 11`,
      before: "export const bump: Ratio = { numerator: 9n, denominator: 8n }",
      after: "export const bump: Ratio = { numerator: 11n, denominator: 10n }",
      test: `${tests}/Fees.test.ts`
    },
    {
      name: "gas-limit-has-a-margin",
      rule: "The gas limit is 1.2 times the estimate.",
      source: `${failures} 23`,
      before: "export const estimateMargin: Ratio = { numerator: 6n, denominator: 5n }",
      after: "export const estimateMargin: Ratio = { numerator: 1n, denominator: 1n }",
      test: `${tests}/Gas.test.ts`
    }
  ]),
  ...inFile(`${source}/InFlight.ts`, [
    {
      name: "replaces-the-highest-attempt",
      rule: "A replacement is above the highest of all attempts, not only above the newest.",
      source: `${failures} 11`,
      before: "fees: highest(first.offer.fees, ...others.map(({ offer }) => offer.fees))",
      after: "fees: highest(newest.offer.fees)",
      test: `${tests}/SignaturesAndPrices.test.ts`
    },
    {
      name: "price-rises-after-long-patience",
      rule: "The price of the head of a lane rises after three times its patience although the market did not move.",
      source: `${failures} 15`,
      before: "hasWaited(situation, former, patienceAboveMarket)",
      after: "hasWaited(situation, former, 1000 * patienceAboveMarket)",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "only-the-head-is-raised",
      rule: "Only the head of a lane is raised, because nothing can be mined before it.",
      source: `${failures} 15`,
      before: "if (!isHead(situation) || firstSent === undefined) return false",
      after: "if (firstSent === undefined) return false",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "full-blocks-pass-nothing-over",
      rule: "Only blocks with room show that a tip is not enough.",
      source: `${failures} 41`,
      before: "isOver && (market.roomyBlocks ?? 0) >= patienceBlocks[speed] ? tip : undefined",
      after: "isOver ? tip : undefined",
      test: "test/server/lanes/QuietChains.test.ts"
    },
    {
      name: "raises-after-refusals-end",
      rule: "A price that nodes refuse is raised three times in a row at most.",
      source: `${failures} 11`,
      before: "count > 0 && count <= immediateBumps",
      after: "count > 0",
      test: `${tests}/DecideInFlight.test.ts`
    }
  ]),
  ...inFile(`${source}/Market.ts`, [
    {
      name: "lower-fees-of-two-providers",
      rule: "Of the tips that two providers name, the lower one counts.",
      source: `${failures} 41`,
      before: "mapTips(one.tips, (tip, speed) => smaller(tip, other.tips[speed]))",
      after: "mapTips(one.tips, (tip, speed) => (other.tips[speed] < 0n ? 0n : tip))",
      test: `${tests}/Market.test.ts`
    },
    {
      name: "tips-of-blocks-with-room-are-no-evidence",
      rule: "What others paid for a block with room does not become the tip.",
      source: `${failures} 41`,
      before: "if (hadRoom(history, block)) return 0n",
      after: "",
      test: `${tests}/Market.test.ts`
    },
    {
      name: "own-transactions-are-no-evidence",
      rule: "A block that own transactions filled counts as one with room.",
      source: `${failures} 41`,
      before: " || 2 * (ownGas[block] ?? 0) > used",
      after: " || 2 * (ownGas[block] ?? 0) < 0",
      test: `${tests}/Market.test.ts`
    },
    {
      name: "suggested-tip-is-bounded",
      rule: "A tip that the node suggests is offered only if it is below what makers of blocks usually take.",
      source: `${failures} 41`,
      before: "smaller(usual, smaller(suggestedTip, taken))",
      after: "smaller(suggestedTip, taken)",
      test: `${tests}/Market.test.ts`
    },
    {
      name: "tip-stays-near-the-lowest-of-a-full-block",
      rule: "The tip is not far above the lowest one of a full block.",
      source: `${failures} 41`,
      before: "return smaller(paid, scaleUp(lowestOf(row), aboveLowest[speed]))",
      after: "return paid",
      test: `${tests}/MarketExplored.test.ts`
    },
    {
      name: "stale-base-fee-holds-nothing",
      rule: "The base fee of the last block is not taken for that of the next one.",
      source: `${failures} 13`,
      before: "return larger(gasPrice - suggestedTip, 1n)",
      after: "return newest",
      test: `${tests}/Market.test.ts`
    },
    {
      name: "passed-over-tip-is-not-offered-again",
      rule: "A tip that blocks with room passed over rises to the lowest one that was enough.",
      source: `${failures} 41`,
      before: "tip > passedOver ? tip : next)",
      after: "tip > passedOver ? tip : tip)",
      test: `${tests}/Market.test.ts`
    },
    {
      name: "tips-are-limited-without-a-cap",
      rule: "Without a cap, no provider decides about the tip beyond a limit.",
      source: `${failures} 41`,
      before: "mapTips(market.tips, (tip) => smaller(tip, limit))",
      after: "mapTips(market.tips, (tip) => (limit < 0n ? limit : tip))",
      test: `${tests}/Prices.test.ts`
    }
  ]),
  ...inFile("src/networks/evm/chain/EvmMarkets.ts", [
    {
      name: "fees-that-were-not-read-are-asked-again",
      rule: "A read of fees that failed is not kept until the next block, which may never come.",
      source: `${failures} 41`,
      before: "if (Exit.isFailure(exit)) return 0",
      after: "if (Exit.isFailure(exit)) return Infinity",
      test: "test/server/lanes/QuietChains.test.ts"
    },
    {
      name: "moving-base-fee-is-asked-again",
      rule: "A base fee that changes although no block comes is asked for again.",
      source: `${failures} 13`,
      before: "exit.value.isMoving === true ? pollInterval(numbers) : Infinity",
      after: "exit.value.isMoving === true ? Infinity : Infinity",
      test: "test/server/lanes/QuietChains.test.ts"
    }
  ]),
  ...inFile("src/networks/evm/chain/EvmCalls.ts", [
    {
      name: "halts-are-not-out-of-gas",
      rule: "More gas is advised only if the node does not name another reason.",
      source: `${failures} 22`,
      before: "return failsIn(error) ? false : undefined",
      after: "return failsIn(error) ? undefined : undefined",
      test: "test/server/lanes/OtherNodes.test.ts"
    }
  ]),
  ...inFile("src/networks/evm/chain/EvmCalls.ts", [
    {
      name: "reverted-creation-has-no-address",
      rule: "A creation that reverted has no contract.",
      source: `${failures} 22`,
      before: "fields.contractAddress && isSuccess ?",
      after: "fields.contractAddress ?",
      test: "test/networks/evm/chain/EvmCalls.test.ts"
    }
  ]),
  ...inFile("src/networks/evm/lane/EvmLane.ts", [
    {
      name: "unwanted-reasons-are-not-kept",
      rule: "The reason of a contract is kept only if the policy wants it.",
      source: `${failures} 22`,
      before: "isWanted || isHalt(error) ? revertReasonOf(error) : undefined",
      after: "revertReasonOf(error)",
      test: "test/server/lanes/OtherNodes.test.ts"
    }
  ]),
  ...inFile("src/networks/evm/lane/EvmLane.ts", [
    {
      name: "absences-are-counted-per-provider",
      rule: "What one provider does not show says nothing about the pool of another one.",
      source: `${failures} 14`,
      before: "(missed?.get(url)?.polls ?? 0) > 0",
      after: "[...(missed?.values() ?? [])].some(({ polls }) => polls > 0)",
      test: "test/server/lanes/OtherNodes.test.ts"
    }
  ]),
  ...inFile("src/networks/evm/lane/EvmPoll.ts", [
    {
      name: "hidden-pool-is-no-absence",
      rule: "A pool that does not show by hash what it has is no sign that bytes are gone.",
      source: `${failures} 14`,
      before: "found[index] !== null || memory.hidesPool.has(node.url)",
      after: "found[index] !== null",
      test: "test/server/lanes/OtherNodes.test.ts"
    },
    {
      name: "own-gas-is-noted",
      rule: "Receipts of own transactions say which blocks own transactions filled.",
      source: `${failures} 41`,
      before: "if (own.length > 0) nodes.markets.noteOwn(numbers.chainId, own)",
      after: "if (own.length > 1000) nodes.markets.noteOwn(numbers.chainId, own)",
      test: "test/server/lanes/QuietChains.test.ts"
    }
  ]),
  ...inFile(`${source}/EvmNumbers.ts`, [
    {
      name: "delegated-account-has-one-in-flight",
      rule: "An account with a delegation has one transaction in flight.",
      source: `${failures} 26`,
      before: "delegateOf(code) === undefined ? window : windowOfDelegated",
      after: "delegateOf(code) === code ? windowOfDelegated : window",
      test: `${tests}/NetworkNumbers.test.ts`
    }
  ])
]
