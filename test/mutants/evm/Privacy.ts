// Rules of evm about private transactions: who gets their bytes, which hashes are asked for, and what ends them.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const source = "src/networks/evm/rules"
const test = "test/networks/evm/rules/Route.test.ts"
const lanes = "test/server/lanes/PrivateRoutes.test.ts"
const wallets = "test/networks/evm/requests/wallet/Private.test.ts"
const document = "test/transactions-failures.md"

export const privacy: ReadonlyArray<Mutant> = [
  ...inFile(`${source}/Evm.ts`, [
    {
      name: "private-bytes-stay-private",
      rule: "Bytes that execute a private request go to private providers alone.",
      source: document,
      before: 'return isNoop(attempt) || route.kind === "fell_back" ? "both" : "private"',
      after: 'return "both"',
      test
    },
    {
      name: "no-ops-are-no-secret",
      rule: "A no-op of a private transaction goes to normal providers as well, because private ones swallow it.",
      source: document,
      before: 'return isNoop(attempt) || route.kind === "fell_back" ? "both" : "private"',
      after: 'return route.kind === "fell_back" ? "both" : "private"',
      test
    },
    {
      name: "a-fallback-is-public",
      rule: "After its fallback the bytes go to normal providers as well.",
      source: document,
      before: 'return isNoop(attempt) || route.kind === "fell_back" ? "both" : "private"',
      after: 'return isNoop(attempt) ? "both" : "private"',
      test
    },
    {
      name: "hashes-are-secret-until-mined",
      rule: "No hash of private bytes is asked for before a block shows it.",
      source: document,
      before: "): boolean => isPrivate(transaction, attempt) && transaction.mined?.ordinal !== attempt.ordinal",
      after: "): boolean => isPrivate(transaction, attempt) && transaction.mined?.ordinal === attempt.ordinal",
      test
    }
  ]),
  ...inFile(`${source}/Route.ts`, [
    {
      name: "a-private-first-send-waits-for-public-ones",
      rule: "The first private send waits for public transactions between the chain's count and its nonce.",
      source: document,
      before: "return publics.some((other) => BigInt(other) >= chainSequence && other < nonce)",
      after: "return publics.some((other) => BigInt(other) >= chainSequence && other > nonce)",
      test
    },
    {
      name: "fallback-time-runs-at-the-count",
      rule: "The time until a fallback runs only while the nonce is at the chain's count.",
      source: document,
      before: "    if (isBeyondCount(situation)) {",
      after: "    if (nonceOf(transaction) === undefined) {",
      test
    },
    {
      name: "a-fallback-waits-for-its-time",
      rule: "A transaction does not become public before its fallback is due.",
      source: document,
      before: "fallbackAfter !== undefined && now - route.since >= fallbackAfter",
      after: "fallbackAfter !== undefined",
      test
    },
    {
      name: "a-canceled-one-does-not-fall-back",
      rule: "What is being ended does not become public.",
      source: document,
      before: 'if (route?.kind !== "private" || intent !== "execute" || newest === undefined) return undefined',
      after: 'if (route?.kind !== "private" || newest === undefined) return undefined',
      test
    },
    {
      name: "what-fell-back-is-sent-at-once",
      rule: "Bytes that were only sent privately are sent again when they become public.",
      source: document,
      before: 'route?.kind === "fell_back" && route.since !== undefined && (lastSentAt ?? -Infinity) <= route.since',
      after: 'route?.kind === "fell_back" && route.since === undefined && (lastSentAt ?? -Infinity) <= route.since',
      test
    }
  ]),
  ...inFile(`${source}/EvmRules.ts`, [
    {
      name: "private-providers-end-nothing",
      rule: "A permanent refusal of private providers clears no nonce.",
      source: document,
      before: "...(isPrivate(transaction, attempt) ? {} : intendOf(transaction, attempt, refusal))",
      after: "...intendOf(transaction, attempt, refusal)",
      test
    },
    {
      name: "private-words-hold-no-lane",
      rule: "Unknown words of private providers hold no later transaction.",
      source: document,
      before:
        'if (newest === undefined || transaction.state !== "signed" || isPrivate(transaction, newest)) return false',
      after: 'if (newest === undefined || transaction.state !== "signed") return false',
      test
    },
    {
      name: "a-restored-private-one-waits",
      rule: "An operator sends a restored private transaction again only when private providers have forgotten it.",
      source: document,
      before: `return route?.kind === "private" && answer === "send" && now < end`,
      after: `return route?.kind === "private" && answer === "send" && now < 0`,
      test
    }
  ]),
  ...inFile(`${source}/InFlight.ts`, [
    {
      name: "passing-blocks-prove-nothing-privately",
      rule: "The price of a private transaction is raised only if the market is above it.",
      source: document,
      before:
        "  if (isPrivate(situation.transaction, former.newest)) {\n    return hasWaited(situation, former) && isBelowMarket(situation, former)\n  }\n",
      after: "",
      test
    },
    {
      name: "private-refusals-raise-no-price",
      rule: "What private providers call underpriced is not signed again at a higher price.",
      source: document,
      before: "isRefusedAgain(attempts) && !isPrivate(transaction, newest)",
      after: "isRefusedAgain(attempts)",
      test
    },
    {
      name: "private-tips-are-no-market",
      rule: "A refusal of a private provider says nothing about the tips that the chain takes.",
      source: document,
      before: "  if (isPrivate(transaction, newest)) return undefined\n",
      after: "",
      test
    }
  ]),
  ...inFile("src/networks/core/Transition.ts", [
    {
      name: "a-restore-begins-the-wait",
      rule: "The wait for private providers to forget begins when the restore is noticed.",
      source: document,
      before: "  ...routedAnew(transaction, now),\n  restored: true",
      after: "  ...transaction,\n  restored: true",
      test
    },
    {
      name: "a-new-nonce-begins-the-time-anew",
      rule: "The time until a fallback begins anew at each nonce.",
      source: document,
      before: "withoutPlace(routedAnew(wanted, restored ? now : undefined))",
      after: "withoutPlace(wanted)",
      test
    }
  ]),
  ...inFile("src/server/lanes/LaneSending.ts", [
    {
      name: "no-other-relayer-sends-private-bytes",
      rule: "Stranded private bytes never go through the URLs of another relayer.",
      source: document,
      before: 'if (!heard.isAccepted && destination !== "private" && isStranded(attempt, step.now)) {',
      after: "if (!heard.isAccepted && isStranded(attempt, step.now)) {",
      test: lanes
    },
    {
      name: "held-back-bytes-do-not-leave",
      rule: "A private first send waits for public transactions, also right after its signature.",
      source: document,
      before: "|| isHeldBack(step, transaction, attempt)) continue",
      after: ") continue",
      test: lanes
    }
  ]),
  ...inFile("src/networks/evm/lane/EvmLane.ts", [
    {
      name: "normal-urls-get-no-private-bytes",
      rule: "Private bytes go to private URLs alone.",
      source: document,
      before: 'destination === "private" ? Effect.succeed([]) : normally',
      after: "normally",
      test: lanes
    },
    {
      name: "nobody-else-is-asked-whether-it-reverts",
      rule: "Only private providers are asked whether a private call would revert now.",
      source: document,
      before: `  const providers = isEstimatedPrivately(transaction)
    ? yield* privateProvidersOf(context, relayer)
    : yield* providersOf(context, relayer)
  const request = newestRequest(transaction)
  const { authorization_list: list } = request`,
      after: `  const providers = yield* providersOf(context, relayer)
  const request = newestRequest(transaction)
  const { authorization_list: list } = request`,
      test: lanes
    },
    {
      name: "private-estimates",
      rule: "Only private providers estimate a private call.",
      source: document,
      before: "const estimating = isPrivate ? yield* privateProvidersOf(context, relayer) : providers",
      after: "const estimating = providers",
      test: lanes
    }
  ]),
  ...inFile("src/networks/evm/chain/EvmMarkets.ts", [
    {
      name: "oracles-get-random-bytes",
      rule: "An oracle of data fees gets no bytes of a private call.",
      source: document,
      before: "const bytes = isSecret ? yield* randomHex(unsigned.length - 2) : unsigned.slice(2)",
      after: "const bytes = unsigned.slice(2)",
      test: lanes
    }
  ]),
  ...inFile("src/networks/evm/lane/EvmPoll.ts", [
    {
      name: "private-ones-are-found-in-their-blocks",
      rule: "A private transaction is found in the block that used its nonce, and not by its hash.",
      source: document,
      before: ", ...placed]",
      after: "]",
      test: lanes
    }
  ]),
  ...inFile(`${source}/Decision.ts`, [
    {
      name: "private-ones-have-a-tip",
      rule: "A private transaction offers at least a wei as its tip.",
      source: document,
      before: 'transaction.route?.kind === "private" ? withSomeTip(market) : market',
      after: "market",
      test
    }
  ]),
  ...inFile("src/networks/evm/requests/EvmNodeCalls.ts", [
    {
      name: "reads-of-other-relayers-are-no-leak",
      rule: "A read by the hash of a private transaction through another relayer asks no provider.",
      source: document,
      before: "return (yield* isSecretIn(call.params)) ? result(null) : yield* node.ask(call)",
      after: "return yield* node.ask(call)",
      test: wallets
    },
    {
      name: "no-method-has-a-secret-hash",
      rule: "No method of a wallet takes the hash or the bytes of a private transaction to a provider.",
      source: document,
      before:
        "if (!byHashMethods.has(method) && (yield* reads.isSecretIn(params))) return errorReply(call, secretRefused)",
      after: "",
      test: wallets
    },
    {
      name: "signed-bytes-count-by-their-hash",
      rule: "Signed bytes of a private transaction in the parameters of a call are found by their hash.",
      source: document,
      before: "return [...new Set([...texts.filter((text) => hash.test(text)), ...hashed])]",
      after: "return [...new Set(texts.filter((text) => hash.test(text) || hashed.length < 0))]",
      test: wallets
    },
    {
      name: "wallets-show-calls-to-private-providers",
      rule: "Calls of wallets of a relayer whose policy asks for private transactions go to private providers alone.",
      source: document,
      before: "const isPrivate = terms.isPrivate && terms.estimatesPrivately && hasCall(params)",
      after: 'const isPrivate = terms.isPrivate && terms.estimatesPrivately && hasCall(params) && method === "none"',
      test: wallets
    },
    {
      name: "wallets-see-no-secret-signature",
      rule: "A read of a private transaction shows its signature as zero.",
      source: document,
      before: "const { r, s } = isSecret ? noSignature : signature",
      after: 'const { r, s } = isSecret && hash === "" ? noSignature : signature',
      test: wallets
    }
  ]),
  ...inFile("src/networks/evm/requests/EvmIntake.ts", [
    {
      name: "replacement-has-the-route-of-its-transaction",
      rule: "A replacement of a private transaction is checked as a private one, whatever the policy says by then.",
      source: document,
      before: `own === undefined ? terms : { ...terms, isPrivate: own.route?.kind === "private" }`,
      after: "terms",
      test: "test/server/transactions/ReplacedPrivately.test.ts"
    },
    {
      name: "simulations-are-private",
      rule: "The simulation of a private transaction shows its call to private providers alone.",
      source: document,
      before: "? estimatePrivately(sender, call)",
      after: "? nodeEstimate(node, call)",
      test: wallets
    }
  ]),
  ...inFile(`${source}/Route.ts`, [
    {
      name: "a-leak-is-reported-once",
      rule: "A private transaction that a normal provider shows is reported once.",
      source: document,
      before: ' && route?.kind === "private" && route.seenPublicly === undefined',
      after: ' && route?.kind === "private"',
      test
    }
  ]),
  ...inFile("src/networks/evm/lane/EvmPoll.ts", [
    {
      name: "a-leak-is-asked-for-after-the-count",
      rule: "A normal provider gets the hash of private bytes only if its pool counts more than the service gave to anybody.",
      source: document,
      before: "  if (pending <= count) return undefined\n",
      after: "",
      test: lanes
    },
    {
      name: "a-leak-is-asked-for-once",
      rule: "A normal provider gets the hash of private bytes that seem to be public once.",
      source: document,
      before: " || memory.leakAsked.get(suspect.number) === newest.hash",
      after: "",
      test: lanes
    },
    {
      name: "a-mined-transaction-is-no-leak",
      rule: "A private transaction that a block has is no leak, although the count of the pool has risen.",
      source: document,
      before: ' && (Reflect.get(shown, "blockNumber") ?? null) === null',
      after: "",
      test: lanes
    },
    {
      name: "a-private-host-shows-no-leak",
      rule: "The pool of a host that is also private is not looked at for leaks.",
      source: document,
      before: " || privateHosts.has(hostOf(node.url))",
      after: "",
      test: lanes
    },
    {
      name: "public-bytes-are-no-leak",
      rule: "While public bytes of the account may be in pools, their counts show no leak.",
      source: document,
      before: " || isPublicIn(transactions, count)",
      after: "",
      test: lanes
    }
  ]),
  ...inFile("src/server/networks/Networks.ts", [
    {
      name: "lanes-notice-a-change-of-private-urls",
      rule: "A lane sends to the private URLs as they are: what it remembers is compared with the row of the network that gives them.",
      source: document,
      before: "return { network, privateUrls, origins: resolver.originsOf(id) }",
      after: "return { network, privateUrls, origins: [] }",
      test: "test/server/relayers/OwnPrivateUrls.test.ts"
    }
  ]),
  ...inFile("src/server/ledger/TransactionsRepo.ts", [
    {
      name: "a-route-is-written-with-its-lane",
      rule: "A change of the route is written by a lane alone and with other lanes.",
      source: document,
      before: "route = given.route, route_since",
      after: "route_since",
      test: "test/server/ledger/PrivateBytes.test.ts"
    }
  ]),
  ...inFile("src/server/ledger/SignaturesRepo.ts", [
    {
      name: "private-bytes-are-sealed",
      rule: "Signed bytes of a private transaction are sealed at rest.",
      source: document,
      before: 'networks.of(chain).rules.destinationOf?.(transaction, attempt) === "private"',
      after: "networks.of(chain).rules.destinationOf?.(transaction, attempt) === undefined",
      test: "test/server/ledger/PrivateBytes.test.ts"
    }
  ])
]
