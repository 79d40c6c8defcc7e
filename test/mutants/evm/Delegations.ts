// Rules of evm about authorizations of other accounts: a call never runs without a delegation that it was accepted with.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const rules = "src/networks/evm/rules"
const test = "test/networks/evm/rules/Authorizations.test.ts"
const yieldingTest = "test/networks/evm/rules/Yielding.test.ts"
const lanes = "test/server/lanes/AuthorizationLists.test.ts"
const requests = "test/server/transactions/AuthorizationLists.test.ts"
const identities = "test/server/ledger/Identities.test.ts"
const shapes = "test/networks/evm/rules/AuthorizationShapes.test.ts"
const bytes = "test/networks/evm/chain/Authorizations.test.ts"
const document = "test/transactions-failures.md"

export const delegations: ReadonlyArray<Mutant> = [
  ...inFile(`${rules}/Authorizations.ts`, [
    {
      name: "a-used-authorization-is-not-signed",
      rule: "An entry whose nonce is below the count holds only if its delegation is there.",
      source: document,
      before: 'if (entry.nonce < count) return isDelegated(entry, code) ? "ready" : "used"',
      after: 'if (entry.nonce < count) return "ready"',
      test
    },
    {
      name: "a-delegation-that-is-there-is-enough",
      rule: "An entry whose nonce is used counts if its delegation is there.",
      source: document,
      before: 'if (entry.nonce < count) return isDelegated(entry, code) ? "ready" : "used"',
      after: 'if (entry.nonce < count) return "used"',
      test
    },
    {
      name: "an-authorization-ahead-waits",
      rule: "An entry whose nonce is above the count is not signed.",
      source: document,
      before: 'if (entry.nonce > count) return "ahead"',
      after: 'if (entry.nonce > count) return "ready"',
      test
    },
    {
      name: "a-busy-authority-waits",
      rule: "No authorization of an account with several transactions in a pool is signed.",
      source: document,
      before: 'return pendingCount >= count + pendingOfBusy ? "busy" : "ready"',
      after: 'return "ready"',
      test
    },
    {
      name: "an-authority-is-never-a-relayer",
      rule: "An authorization of a relayer's account uses up a nonce of a lane, so it is never signed.",
      source: document,
      before: 'if (isRelayer) return "relayer"',
      after: 'if (isRelayer && count === -1) return "relayer"',
      test
    },
    {
      name: "silence-about-an-authority-waits",
      rule: "What nobody says of an authority is not taken for a count.",
      source: document,
      before: 'if (count === undefined || code === undefined) return "unknown"',
      after: 'if (count === undefined || code === undefined) return "ready"',
      test
    },
    {
      name: "the-zero-address-leaves-no-code",
      rule: "An authorization of the zero address ends a delegation.",
      source: document,
      before: 'address === noDelegate ? "0x" : `${prefix}${address.slice(2)}`',
      after: "`${prefix}${address.slice(2)}`",
      test: bytes
    }
  ]),
  ...inFile(`${rules}/AuthorizationRules.ts`, [
    {
      name: "without-allowed-delegates-no-list-is-sent",
      rule: "A policy without allowed_delegates allows no list.",
      source: "docs/policies.md: Authorizations",
      before: "  if (delegates === undefined) {",
      after: "  if (delegates === undefined) return []\n  if (delegates.length > 1e9) {",
      test
    },
    {
      name: "the-policy-names-each-delegate",
      rule: "A delegate that allowed_delegates does not name is refused.",
      source: "docs/policies.md: Authorizations",
      before: 'includes("evm", delegates, address)',
      after: 'includes("evm", [...delegates, address], address)',
      test
    },
    {
      name: "the-network-says-that-it-takes-lists",
      rule: "A network without the feature eip7702 gets no list.",
      source: document,
      before: "  if (!network.hasAuthorizations) {",
      after: "  if (!network.hasAuthorizations && !network.isEip1559) {",
      test
    },
    {
      name: "an-authorization-is-of-the-chain",
      rule: "An entry for another chain is refused: nodes skip it.",
      source: document,
      before: "if (entry.chainId !== 0 && entry.chainId !== chainId) {",
      after: "if (entry.chainId === -1) {",
      test
    },
    {
      name: "one-authorization-per-account",
      rule: "Two entries of the same account are refused: the first uses the nonce of the second.",
      source: document,
      before: "if (list.findIndex((other) => other.authority === authority) < index) {",
      after: "if (list.findIndex((other) => other.authority === authority) > index) {",
      test
    },
    {
      name: "no-account-is-its-own-delegate",
      rule: "An account that is delegated to itself uses all gas of each call.",
      source: document,
      before: "    if (isSame(address, authority)) {",
      after: "    if (address === authority && index > 9) {",
      test
    },
    {
      name: "no-delegated-account-is-a-delegate",
      rule: "A delegate that is itself delegated uses all gas of each call.",
      source: document,
      before: "return delegateCode !== undefined && delegateOf(delegateCode) !== undefined",
      after: "return delegateCode !== undefined && delegateOf(delegateCode) === delegateCode",
      test: requests
    },
    {
      name: "a-list-needs-a-receiver",
      rule: "A request with a list names the account that is called.",
      source: document,
      before: "    ...(to === undefined\n      ? [",
      after: '    ...(to === "0x"\n      ? [',
      test
    },
    {
      name: "the-word-authority-names-signers-alone",
      rule: "The word authority allows no account but those of the entries.",
      source: "docs/policies.md: Authorizations",
      before: "list.some(({ authority }) => isSame(authority, to))",
      after: "list.length > 0",
      test
    },
    {
      name: "the-word-authority-has-to-be-there",
      rule: "A list of receivers without the word authority does not allow the accounts of entries.",
      source: "docs/policies.md: Authorizations",
      before: "  receivers.includes(authorityReceiver) &&\n",
      after: "",
      test
    },
    {
      name: "accounts-of-entries-get-no-value",
      rule: "The word authority allows calls without value alone: anybody can make an account that signs.",
      source: "docs/policies.md: Authorizations",
      before: "  value === 0n &&\n",
      after: "",
      test
    },
    {
      name: "accounts-with-code-have-no-authorizations",
      rule: "An account with code that is no delegation is refused: nodes skip its entry.",
      source: document,
      before: "if (code !== undefined && isForeignCode(code)) {",
      after: "if (code !== undefined && isForeignCode(code) && index > 9) {",
      test: requests
    },
    {
      name: "a-used-authorization-is-refused",
      rule: "An entry whose nonce is below the count is refused when it arrives.",
      source: document,
      before: "  if (isUsed) {",
      after: "  if (isUsed && index > 9) {",
      test: requests
    },
    {
      name: "a-used-list-ends-the-transaction",
      rule: "A list that is used ends the transaction before a signature.",
      source: document,
      before:
        'return standing?.standing === "used" ? { code: "authorization_used", figures: figuresOf(standing) } : undefined',
      after: "return undefined",
      test
    }
  ]),
  ...inFile(`${rules}/AuthorizationShapes.ts`, [
    {
      name: "signatures-are-no-json-numbers",
      rule: "An r or s that is a JSON number is refused: most readers round it to the signature of another account.",
      source: document,
      before: "  if (isNumeric(value)) {",
      after: "  if (isNumeric(value) && name.length > 1) {",
      test: shapes
    },
    {
      name: "a-high-s-is-refused",
      rule: "Nodes skip an entry with an s in the upper half of the curve.",
      source: document,
      before: "    BigInt(s) > highestS\n",
      after: "    BigInt(s) > highestS * 4n\n",
      test: shapes
    }
  ]),
  ...inFile(`${rules}/Costs.ts`, [
    {
      name: "entries-cost-gas",
      rule: "A gas limit has to have 25,000 for each entry: some nodes answer a hash for less, and drop the bytes.",
      source: document,
      before: "const list = entryGas * BigInt(authorizations)",
      after: "const list = 0n * BigInt(authorizations)",
      test
    },
    {
      name: "a-list-has-no-gas-price",
      rule: "A transaction with a list has an EIP-1559 price, whatever the policy says.",
      source: document,
      before: "(isEip1559 || authorization_list !== undefined || delegate",
      after: "(isEip1559 || delegate",
      test
    },
    {
      name: "a-delegation-has-no-gas-price",
      rule: "A delegation of the own account has an EIP-1559 price, whatever the policy says.",
      source: "docs/batches.md",
      before: "authorization_list !== undefined || delegate !== undefined ?",
      after: "authorization_list !== undefined ?",
      test: "test/networks/evm/rules/Delegation.test.ts"
    }
  ]),
  ...inFile(`${rules}/EvmRules.ts`, [
    {
      name: "delegates-are-compared-before-signatures",
      rule: "A delegate that the policy does not name any more is not signed.",
      source: document,
      before: "delegateViolations(request, terms).length === 0",
      after: "delegateViolations(request, terms).length >= 0",
      test: lanes
    },
    {
      name: "authorities-exclude-each-other",
      rule: "Two open transactions never carry an authorization of the same account.",
      source: document,
      before: "authoritiesOf: ({ authorization_list: list = [] }) => list.map(({ authority }) => authority)",
      after: "authoritiesOf: ({ authorization_list: list = [] }) => list.slice(10).map(({ authority }) => authority)",
      test: requests
    }
  ]),
  ...inFile(`${rules}/Decision.ts`, [
    {
      name: "authorities-are-read-before-a-signature",
      rule: "The accounts of a list are looked at before each first signature.",
      source: document,
      before: 'if (standing === undefined) return [ask<Evm>({ _tag: "Authorities" })]',
      after: "if (standing === undefined) return undefined",
      test: lanes
    },
    {
      name: "an-authorization-ahead-ends",
      rule: "A list whose nonce is not reached ends after ten minutes: others may use the entries meanwhile.",
      source: document,
      before:
        'return now < until ? hold(situation, why) : [finish({ state: "failed", cause: why })]\n}\n\n/** A call is estimated, and',
      after: "return hold(situation, why)\n}\n\n/** A call is estimated, and",
      test
    },
    {
      name: "no-call-goes-without-an-estimate-of-its-list",
      rule: "A call that no provider estimates with its list fails without a nonce.",
      source: document,
      before:
        'if (estimate._tag === "Unavailable") return [finish({ state: "failed", cause: cause("estimate_unavailable") })]',
      after: 'if (estimate._tag === "Unavailable") return undefined',
      test: lanes
    }
  ]),
  ...inFile(`${rules}/DecideInFlight.ts`, [
    {
      name: "a-busy-authority-at-its-cap-keeps-nobody-waiting",
      rule: "A list that pools drop gives its nonce up although a raise of its price is due and not allowed.",
      source: document,
      before: "yieldsNonce(situation, former, signature.failure) ?? yields ?? wait(",
      after: "yieldsNonce(situation, former, signature.failure) ?? wait(",
      test: yieldingTest
    },
    {
      name: "a-rising-market-keeps-nobody-waiting",
      rule: "A list that pools drop although its price was raised gives its nonce up, and is not raised again.",
      source: document,
      before: "isInVain && yields !== undefined ? yields : [",
      after: "isInVain && yields !== undefined && situation.now < 0 ? yields : [",
      test: yieldingTest
    }
  ]),
  ...inFile(`${rules}/Yielding.ts`, [
    {
      name: "a-busy-authority-keeps-nobody-waiting",
      rule: "A transaction that pools do not keep because of its accounts gives its nonce up if others wait behind it.",
      source: document,
      before: "  if (!isListDropped(situation, former) || !hasOthersBehind(situation)) return undefined\n",
      after: "  if (!isListDropped(situation, former) || hasOthersBehind(situation)) return undefined\n",
      test: yieldingTest
    },
    {
      name: "a-busy-authority-below-the-market-keeps-nobody-waiting",
      rule: "A list that pools drop gives its nonce up also if the market is above its price.",
      source: document,
      before: "  const speed = speedOf(requestOf(transaction, former.newest))\n",
      after:
        "  const speed = speedOf(requestOf(transaction, former.newest))\n  if ((view.market?.tips.average ?? 0n) > maxFeeOf(former.newest.offer.fees)) return undefined\n",
      test: yieldingTest
    },
    {
      name: "a-raise-does-not-start-the-patience-anew",
      rule: "The patience with a list that pools drop runs since its first price was sent.",
      source: document,
      before: "  const firstSent = sameList(former).find((attempt) => attempt.firstSent !== undefined)?.firstSent\n",
      after: "  const { firstSent } = former.newest\n",
      test: yieldingTest
    },
    {
      name: "nonces-are-given-up-three-times",
      rule: "After the third nonce that a busy account has cost, the transaction ends.",
      source: document,
      before: "yields + 1 >= yielding.atMost",
      after: "yields > yielding.atMost + 99",
      test: yieldingTest
    }
  ]),
  ...inFile(`${rules}/InFlight.ts`, [
    {
      name: "busy-authorities-raise-no-price",
      rule: "A higher price does not change what pools think of the accounts of a list.",
      source: document,
      before: "  if (isKeptOut(situation, former)) return false\n",
      after: "",
      test: yieldingTest
    },
    {
      name: "evicted-lists-are-raised",
      rule: "A list that a full pool has dropped because it offers too little is raised to the market's price.",
      source: document,
      before: "(isRefusedForOrder(former) || !isBelowMarket(situation, former))",
      after: "(isRefusedForOrder(former) || dropsOf(situation, former) > 0)",
      test: yieldingTest
    },
    {
      name: "a-newer-list-is-looked-at",
      rule: "The accounts of a newer version are looked at before it is signed.",
      source: document,
      before: "  isNewer(transaction, former) &&\n  isListed(transaction)\n",
      after: "  isNewer(transaction, former) &&\n  isListed(transaction) &&\n  transaction.versions.length > 99\n",
      test: lanes
    },
    {
      name: "lists-of-private-ones-are-not-kept-out",
      rule: "What normal pools do not have of private bytes says nothing about their accounts.",
      source: document,
      before: "if (!carriesList(transaction, newest) || isPrivate(transaction, newest)) return false",
      after: "if (!carriesList(transaction, newest)) return false",
      test: yieldingTest
    }
  ]),
  ...inFile("src/networks/evm/lane/EvmAuthorities.ts", [
    {
      name: "one-provider-ends-no-list",
      rule: "What one provider says of a used nonce ends nothing if there is another one.",
      source: document,
      before: "  if (isProven) return state\n",
      after: "  if (isProven || second === undefined || second <= entry.nonce) return state\n",
      test: lanes
    }
  ]),
  ...inFile("src/networks/evm/chain/EvmEstimates.ts", [
    {
      name: "estimates-of-providers-that-ignore-lists-do-not-count",
      rule: "A provider whose empty call costs the same with and without an entry ignores lists.",
      source: document,
      before: 'if (one._tag !== "Gas" || none._tag !== "Gas" || one.gas === none.gas) return undefined',
      after: 'if (one._tag !== "Gas" || none._tag !== "Gas") return undefined',
      test: lanes
    },
    {
      name: "overrides-that-are-ignored-do-not-count",
      rule: "A provider on which a call of invalid code succeeds ignores overrides.",
      source: document,
      before: 'if (invalid._tag !== "Reverts" || asked._tag === "Refused") return undefined',
      after: 'if (asked._tag === "Refused") return undefined',
      test: lanes
    },
    {
      name: "overrides-lack-the-gas-of-entries",
      rule: "An estimate with overrides gets the gas of the entries on top.",
      source: document,
      before: "gas: asked.gas + entryGas * BigInt(list.length)",
      after: "gas: asked.gas",
      test: lanes
    }
  ]),
  ...inFile("src/networks/evm/requests/EvmIntake.ts", [
    {
      name: "a-kept-list-is-compared-again",
      rule: "A list that a replacement keeps has to be allowed as if it came now.",
      source: document,
      before: "const body = yield* check({ ...kept, ...given }, target, allowance, transaction)",
      after:
        "const checked = yield* check(given, target, allowance, transaction)\n      const body = { ...kept, ...checked }",
      test: requests
    },
    {
      name: "a-replacement-has-its-own-route",
      rule: "A replacement is compared with the route of its transaction, whatever the policy says of later sends.",
      source: document,
      before: 'own === undefined ? terms : { ...terms, isPrivate: own.route?.kind === "private" }',
      after: "own === undefined ? terms : { ...terms }",
      test: requests
    },
    {
      name: "the-chain-is-asked-about-lists",
      rule: "What the chain says of the accounts of a list is asked for before it is stored.",
      source: document,
      before: "return violations.length > 0 ? yield* refuse(violations)",
      after: "return violations.length > 99 ? yield* refuse(violations)",
      test: requests
    }
  ]),
  ...inFile("src/networks/evm/requests/EvmAuthorizations.ts", [
    {
      name: "two-providers-refuse-a-used-nonce",
      rule: "Two providers have to say that a nonce is used, if there are two.",
      source: document,
      before: ">= Math.max(Math.min(provenBy, configured), 1)",
      after: ">= 1",
      test: requests
    }
  ]),
  ...inFile("src/server/ledger/LedgerChanges.ts", [
    {
      name: "a-replacement-takes-its-authorities",
      rule: "The accounts of a new version belong to its transaction.",
      source: document,
      before: "      yield* authorities.add(carried, () => authorityTaken)\n",
      after: "      yield* authorities.add(carried.slice(99), () => authorityTaken)\n",
      test: identities
    }
  ])
]
