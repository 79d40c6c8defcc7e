// Written by `npm run openapi` from the schemas of the contract. Do not edit.
import type { Brand, DateTime, Redacted } from "effect"
import type { Method } from "./Method.ts"

/** A method for each endpoint, by the group of the endpoint. */
export interface Client {
  /** Accounts on one network with one signer. */
  readonly relayers: RelayersClient
  /** Whether relayers work, and why not. */
  readonly relayerHealth: RelayerHealthClient
  /** Transactions that relayers send. */
  readonly transactions: TransactionsClient
  /** Transactions across relayers. */
  readonly allTransactions: AllTransactionsClient
  /** Signatures with a relayer's key. */
  readonly signing: SigningClient
  /** Transactions that callers send themselves. */
  readonly transactionSigning: TransactionSigningClient
  /** Users pay the relayer in a token. */
  readonly sponsored: SponsoredClient
  /** Calls to the chain of a relayer. */
  readonly nodeCalls: NodeCallsClient
  /** The nonces of accounts, for operators. */
  readonly nonces: NoncesClient
  /** The limits of relayers. */
  readonly policies: PoliciesClient
  /** Base fees of the blocks that could have had a transaction. */
  readonly fees: FeesClient
  /** Private keys, or references to them, that relayers sign with. */
  readonly signers: SignersClient
  /** Receivers of webhooks about relayers, and the deliveries to them. */
  readonly notifications: NotificationsClient
  /** Configurations of chains that relayers can be bound to. */
  readonly networks: NetworksClient
  /** How the RPC providers of networks do. */
  readonly providers: ProvidersClient
  /** Credentials of callers. The administrator's key, which is in the configuration, may do everything. */
  readonly apiKeys: ApiKeysClient
  /** Configurations as code: networks, notifications, signers, relayers and API keys in one document. */
  readonly configuration: ConfigurationClient
  /** Record of every change: who changed what, and when. */
  readonly audit: AuditClient
  /** Facts that the service publishes about its resources, in one order. */
  readonly events: EventsClient
  /** The key that encrypts all secrets in the database. */
  readonly masterKey: MasterKeyClient
  /** What is wrong, since when, what it holds back, and what helps. */
  readonly attention: AttentionClient
  /** Finds resources by ids, hashes and addresses. */
  readonly search: SearchClient
  /** Numbers of transactions over time. */
  readonly statistics: StatisticsClient
  /** Processes that share the database. */
  readonly instances: InstancesClient
  /** Health and readiness of an instance. */
  readonly system: SystemClient
  /**
   * What the service measures, for Prometheus. Needs no API key. An instance may require a bearer token of its own
   * for them.
   */
  readonly metrics: MetricsClient
}

/** Accounts on one network with one signer. */
export interface RelayersClient {
  /**
   * Create a relayer.
   *
   * The signer, network and notification must exist, and the signer must be able to serve the network type. The
   * relayer has the signer's address on that network type; several relayers may share a signer. If the id exists,
   * the response is 409, even if other fields are invalid. A request may have at most 65,536 bytes of JSON. A key
   * with `transaction_limits` may not give `custom_rpc_urls`. No provider is asked, unless `check` is true: then
   * `metadata.logs` names the RPC URLs that do not work, and what to send where.
   */
  readonly create: Method<"relayers", "create", {
    readonly query: {
      /**
       * Whether the providers are asked before the create, for at most 2 seconds. What is wrong is in `metadata.logs`
       * and never keeps the create from succeeding. Example: `true`
       */
      readonly check?: boolean
    }
    readonly payload: CreateRelayerRequest
  }, RelayerResponse>
  /**
   * List relayers.
   *
   * In creation order unless `sort` says otherwise. A page past the end is empty. The `Link` header leads to the
   * next page by `cursor`: the last page is served as fast as the first, no relayer is skipped or repeated if
   * others are created or deleted, and `total_items` is that of the first page. A page by cursor ends at about 1
   * MiB, which may be before `per_page`. A page by number is never cut short: if it would have more than 2 MiB,
   * the response is 400, and `error` says how many relayers fit.
   */
  readonly list: Method<"relayers", "list", {
    readonly query: {
      /** Number of the page, from 1. 0 means the first page. Example: `1` */
      readonly page?: number
      /**
       * Items on a page. 0 returns no items, only the total. More than 1000 means 1000. If the items exceed 2 MiB, the
       * response is 400: ask for fewer. Example: `10`
       */
      readonly per_page?: number
      /**
       * Position after the last item of the previous page, from its `Link` header (`rel=next`). Valid for the same
       * list only. Example: `"AAAAAGeD2sQ"`
       */
      readonly cursor?: string
      /** Only relayers of this network type. Example: `"evm"` */
      readonly network_type?: NetworkType
      /** Only relayers on networks of this name. Example: `"sepolia"` */
      readonly network?: string
      /** Only relayers with this signer. Example: `"hot-1"` */
      readonly signer_id?: string
      /** Only relayers with this notification. Example: `"ops"` */
      readonly notification_id?: string
      /** Only relayers that are paused, or that are not. Example: `true` */
      readonly paused?: boolean
      /** Only relayers that the service has disabled, or has not. Example: `true` */
      readonly system_disabled?: boolean
      /** Only relayers whose last check left them in this state. Example: `"disabled"` */
      readonly state?: HealthStatus
      /** Only relayers whose name or id contains this text, in upper or lower case. Example: `"pay"` */
      readonly q?: string
      /**
       * Order of the list. `-` means descending; names are compared by code points. `attention`: disabled relayers
       * first, then failing ones, degraded ones, those with a low balance, and all others in creation order; a relayer
       * whose state changes between two pages may be skipped or repeated. The default is `created_at`. Example:
       * `"-name"`
       */
      readonly sort?: "created_at" | "-created_at" | "name" | "-name" | "attention"
      /**
       * `health`: each relayer has its last check and its open transactions, as the service has stored them. No chain
       * is asked. Example: `"health"`
       */
      readonly include?: "health"
    }
  }, RelayerPageResponse>
  /**
   * Get a relayer.
   *
   * RPC URLs are masked.
   */
  readonly get: Method<"relayers", "get", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
    }
  }, RelayerResponse>
  /**
   * Change a relayer.
   *
   * A merge patch (RFC 7396): absent fields stay, null removes a field. The result must be a valid relayer.
   * `custom_rpc_urls` is replaced as a whole; in it, the n-th occurrence of a masked URL stands for the n-th
   * stored URL with that mask, so that weights and order can be changed without sending the URLs again. Concurrent
   * patches apply one after the other; with `If-Match`, a patch of an older version is refused. A key with
   * `transaction_limits` may change neither `custom_rpc_urls` nor `policies`.
   */
  readonly update: Method<"relayers", "update", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
    }
    readonly headers: {
      /**
       * Entity tags, one of which must be the current one, or `*`. Otherwise the response is 412. Example:
       * `"\"12.3\""`
       */
      readonly "if-match"?: string
    }
    readonly payload: UpdateRelayerRequest
  }, RelayerResponse>
  /**
   * Delete a relayer.
   *
   * Its signer, network and notification stay, and so do its final transactions. A relayer with open transactions
   * is not deleted: cancel them, or wait for them.
   */
  readonly delete: Method<"relayers", "delete", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
    }
    readonly headers: {
      /**
       * Entity tags, one of which must be the current one, or `*`. Otherwise the response is 412. Example:
       * `"\"12.3\""`
       */
      readonly "if-match"?: string
    }
  }, 
    | ResponseEnvelope & {
      /** What was done. Example: `"Relayer deleted successfully"` */
      readonly data: "Relayer deleted successfully"
    }>
}

/** Whether relayers work, and why not. */
export interface RelayerHealthClient {
  /**
   * Get a relayer's status.
   *
   * Inspects the chain now. If no provider answers, `live` is false, and balance and nonce are those of the last
   * inspection, at `read_at`.
   */
  readonly status: Method<"relayerHealth", "status", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
    }
  }, RelayerStatusResponse>
  /**
   * Get a relayer's balance.
   *
   * Reads the balance from the chain now. Answers 502 if no provider answers, or if the provider serves another
   * chain.
   */
  readonly balance: Method<"relayerHealth", "balance", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
    }
  }, RelayerBalanceResponse>
  /**
   * Check a relayer now.
   *
   * Runs the regular health check now, with the same consequences: two failed checks in a row disable the relayer
   * (three until its chain has answered once, and a wrong chain at once), and one successful check enables it.
   */
  readonly check: Method<"relayerHealth", "check", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
    }
  }, RelayerStatusResponse>
  /**
   * Get what a relayer's balance was.
   *
   * The balance hour by hour, as the checks of all instances read it, what is spent in a day, and for how long the
   * rest suffices. No provider is asked.
   */
  readonly balances: Method<"relayerHealth", "balances", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
    }
    readonly query: {
      /**
       * First moment. The default is seven days ago, and balances are kept for 30 days. Example:
       * `"2026-01-02T03:00:00.000Z"`
       */
      readonly since?: DateTime.Utc
    }
  }, BalanceTrendResponse>
  /**
   * Explain a relayer's state.
   *
   * Says why the relayer is in its state, what happens next and when, as text and as a code.
   */
  readonly explain: Method<"relayerHealth", "explain", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
    }
  }, RelayerExplanationResponse>
}

/** Transactions that relayers send. */
export interface TransactionsClient {
  /**
   * Send a transaction.
   *
   * The transaction is stored before the response, and is then executed at most once. It gets a nonce and is
   * signed in the background: poll it, or subscribe to its events. If `external_id`, or prebuilt bytes, were
   * accepted before with the same body, the response is that transaction, also if the body could no longer be
   * accepted; with another body it is 409, and `error` names the transaction. `Location` is the URL of the
   * transaction.
   */
  readonly send: Method<"transactions", "send", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
    }
    readonly payload: SendTransactionRequest
  }, TransactionResponseResponse>
  /**
   * List a relayer's transactions.
   *
   * Newest first. `total_items` is at most 10,000, and pages beyond that are empty. The `Link` header leads to the
   * next page by `cursor`, which reaches all transactions; with `cursor` there is no `pagination`.
   */
  readonly list: Method<"transactions", "list", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
    }
    readonly query: {
      /** Number of the page, from 1. 0 means the first page. Example: `1` */
      readonly page?: number
      /**
       * Items on a page. 0 returns no items, only the total. More than 1000 means 1000. If the items exceed 2 MiB, the
       * response is 400: ask for fewer. Example: `10`
       */
      readonly per_page?: number
      /**
       * Position after the last item of the previous page, from its `Link` header (`rel=next`). Valid for the same
       * list only. Example: `"AAAAAGeD2sQ"`
       */
      readonly cursor?: string
      /** Only these states. Example: `["pending"]` */
      readonly status?: ReadonlyArray<TransactionStatus>
      /**
       * Only transactions that are not final and have one of these codes; may be repeated. Example:
       * `["insufficient_funds"]`
       */
      readonly code?: ReadonlyArray<string>
      /**
       * Whether only transactions that are not final and wait for something else than their turn are listed. Example:
       * `true`
       */
      readonly held?: boolean
      /**
       * Only transactions with an attempt of this hash. Example:
       * `"0x5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c"`
       */
      readonly hash?: string
      /** Only the transaction with this identifier. Example: `"order-1234"` */
      readonly external_id?: string
      /** Accepted at or after this moment. Example: `"2026-11-22T12:00:00.000Z"` */
      readonly created_after?: DateTime.Utc
      /** Accepted before this moment. Example: `"2026-11-23T12:00:00.000Z"` */
      readonly created_before?: DateTime.Utc
      /**
       * `gap` lists the no-ops that the service made for unused nonces, `channel` the transactions that make and end
       * channels of stellar, `restore` those that restore what a call needs. Example: `"gap"`
       */
      readonly origin?: "request" | "gap" | "channel" | "restore"
    }
  }, TransactionResponsePageOrListResponse>
  /**
   * Simulate a transaction.
   *
   * Returns the gas or the compute units, the prices per speed, the highest cost, and what policies say. Nothing
   * is stored or sent.
   */
  readonly simulate: Method<"transactions", "simulate", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
    }
    readonly payload: SendTransactionRequest
  }, SimulatedTransactionResponse>
  /**
   * Send up to 100 transactions.
   *
   * All or none are accepted. They get their nonces in the order of the request. Those that were accepted before
   * are in the response as `POST …/transactions` answers them; if the others are refused, `error` names them.
   */
  readonly sendBatch: Method<"transactions", "sendBatch", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
    }
    readonly payload: SendTransactionBatchRequest
  }, TransactionBatchResponse>
  /**
   * Cancel all open transactions of a relayer.
   *
   * Cancels each of them as `DELETE …/transactions/{transaction_id}` does. Transactions that are mined are left
   * out. For a key with `transaction_limits`, those that other keys have sent are among
   * `failed_to_queue_transaction_ids`.
   */
  readonly cancelPending: Method<"transactions", "cancelPending", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
    }
  }, CanceledTransactionsResponse>
  /**
   * Get the transaction of a nonce.
   *
   * The transaction of this relayer that has the nonce, or the sequence on networks that call it so.
   */
  readonly byNonce: Method<"transactions", "byNonce", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
      /** Nonce or sequence of the transaction. Example: `7` */
      readonly nonce: number | bigint
    }
  }, TransactionResponseResponse>
  /**
   * Get a transaction.
   *
   * With all its attempts and its receipt.
   */
  readonly get: Method<"transactions", "get", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
      /** Identifier of the transaction. Example: `"4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"` */
      readonly transaction_id: string & Brand.Brand<"TransactionId">
    }
  }, TransactionResponseResponse>
  /**
   * Replace a transaction.
   *
   * Sends another request at the same nonce. Fees in the request must be more than 10 % above those that were
   * sent. Until the replacement is mined, the former version may still be executed instead of it. `external_id`,
   * `nonce`, `priority` and `not_before` cannot be changed.
   */
  readonly replace: Method<"transactions", "replace", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
      /** Identifier of the transaction. Example: `"4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"` */
      readonly transaction_id: string & Brand.Brand<"TransactionId">
    }
    readonly payload: ReplaceTransactionRequest
  }, TransactionResponseResponse>
  /**
   * Cancel a transaction.
   *
   * Only a response with the status `canceled` promises that it has no effect. Otherwise `is_canceled` is true and
   * a no-op competes for its nonce; the transaction may still be executed. A key with `transaction_limits` cancels
   * only what it, or a key that it created, has sent.
   */
  readonly cancel: Method<"transactions", "cancel", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
      /** Identifier of the transaction. Example: `"4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"` */
      readonly transaction_id: string & Brand.Brand<"TransactionId">
    }
  }, TransactionResponseResponse>
  /**
   * Explain a transaction's state.
   *
   * Says what it waits for and since when, what happens next and when, as text and as a code.
   */
  readonly explain: Method<"transactions", "explain", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
      /** Identifier of the transaction. Example: `"4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"` */
      readonly transaction_id: string & Brand.Brand<"TransactionId">
    }
  }, TransactionExplanationResponse>
}

/** Transactions across relayers. */
export interface AllTransactionsClient {
  /**
   * List transactions of all relayers.
   *
   * Newest first, and only of relayers that the API key can use. The `Link` header leads to the next page by
   * `cursor`.
   */
  readonly list: Method<"allTransactions", "list", {
    readonly query: {
      /**
       * Items on a page. 0 returns no items, only the total. More than 1000 means 1000. If the items exceed 2 MiB, the
       * response is 400: ask for fewer. Example: `10`
       */
      readonly per_page?: number
      /**
       * Position after the last item of the previous page, from its `Link` header (`rel=next`). Valid for the same
       * list only. Example: `"AAAAAGeD2sQ"`
       */
      readonly cursor?: string
      /** Only of these relayers; may be repeated. Example: `["payouts"]` */
      readonly relayer_id?: ReadonlyArray<string & Brand.Brand<"RelayerId">>
      /** Only these states. Example: `["pending"]` */
      readonly status?: ReadonlyArray<TransactionStatus>
      /**
       * Only transactions that are not final and have one of these codes; may be repeated. Example:
       * `["insufficient_funds"]`
       */
      readonly code?: ReadonlyArray<string>
      /**
       * Whether only transactions that are not final and wait for something else than their turn are listed. Example:
       * `true`
       */
      readonly held?: boolean
      /**
       * Only transactions with an attempt of this hash. Example:
       * `"0x5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c"`
       */
      readonly hash?: string
      /** Only the transaction with this identifier. Example: `"order-1234"` */
      readonly external_id?: string
      /** Accepted at or after this moment. Example: `"2026-11-22T12:00:00.000Z"` */
      readonly created_after?: DateTime.Utc
      /** Accepted before this moment. Example: `"2026-11-23T12:00:00.000Z"` */
      readonly created_before?: DateTime.Utc
      /**
       * `gap` lists the no-ops that the service made for unused nonces, `channel` the transactions that make and end
       * channels of stellar, `restore` those that restore what a call needs. Example: `"gap"`
       */
      readonly origin?: "request" | "gap" | "channel" | "restore"
    }
  }, TransactionResponseListResponse>
}

/** Signatures with a relayer's key. */
export interface SigningClient {
  /**
   * Sign a message.
   *
   * With the prefix of EIP-191. Audited.
   */
  readonly sign: Method<"signing", "sign", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
    }
    readonly payload: SignMessageRequest
  }, EvmSignatureResponse>
  /**
   * Sign typed data.
   *
   * EIP-712. Such a signature can move tokens (a permit, an order): no policy of the relayer limits it. Audited.
   */
  readonly signTypedData: Method<"signing", "signTypedData", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
    }
    readonly payload: SignTypedDataRequest
  }, EvmSignatureResponse>
}

/** Transactions that callers send themselves. */
export interface TransactionSigningClient {
  /**
   * Sign a transaction.
   *
   * The caller sends it. It passes all rules of a send, and its fee counts for the limits of the API key, landed
   * or not. It is stored before the response, and the same bytes are signed once: the same request again returns
   * them. 409 if a transaction of the service has the same bytes. Audited.
   */
  readonly signTransaction: Method<"transactionSigning", "signTransaction", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
    }
    readonly payload: SignTransactionRequest
  }, SignedTransactionResponse>
}

/** Users pay the relayer in a token. */
export interface SponsoredClient {
  /**
   * Quote the fee of a user's transaction in a token.
   *
   * The highest fee of the transaction with the relayer's margin, at the price of now. Nothing is stored. 502 with
   * `price_unavailable` if there is no price.
   */
  readonly quote: Method<"sponsored", "quote", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
    }
    readonly payload: QuoteSponsoredTransactionRequest
  }, SponsoredTransactionQuoteResponse>
  /**
   * Build a user's transaction with a payment to the relayer.
   *
   * The user signs it, and sends it with `POST …/transactions`. Nothing is stored, and nothing of it is trusted
   * later: the payment is verified before the relayer signs.
   */
  readonly build: Method<"sponsored", "build", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
    }
    readonly payload: BuildSponsoredTransactionRequest
  }, SponsoredTransactionResponse>
}

/** Calls to the chain of a relayer. */
export interface NodeCallsClient {
  /**
   * Call a JSON-RPC method of the chain.
   *
   * Answers as a node that holds the key of the relayer, so that viem, ethers, web3.py, Hardhat and Foundry send
   * through it. The service itself answers `eth_accounts`, `eth_requestAccounts`, `eth_chainId`, `net_version`,
   * `eth_sendTransaction` (needs `transactions:write`), `personal_sign`, `eth_sign`, `eth_signTypedData` and
   * `eth_signTypedData_v4` (need `transactions:sign`). Other methods are passed on to a provider of the relayer if
   * they are in `rpc_methods` of the network. `eth_sendTransaction` is admitted as `POST /transactions`, and
   * returns the hash of the first signed version; an error in its reply means that the transaction is never
   * executed. A client that cannot set a header may give its API key in the URL, as the password of HTTP Basic
   * authentication. The response is plain JSON-RPC, without an envelope; `Idempotency-Key` has no effect.
   */
  readonly rpc: Method<"nodeCalls", "rpc", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
    }
    readonly payload: JsonRpcCalls
  }, JsonRpcReplies>
}

/** The nonces of accounts, for operators. */
export interface NoncesClient {
  /**
   * Get the nonces of a relayer's account.
   *
   * What the service has recorded, next to what a provider says now.
   */
  readonly get: Method<"nonces", "get", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
    }
  }, ShownSequencesResponse>
  /**
   * Accept the chain's count, and decide about unproven transactions.
   *
   * Resolves the code `nonce_ahead`: the service accepts the chain's count when it reads it next. With `answer`,
   * transactions with the codes `restored_unproven` and `nonce_taken_unproven` are sent or given up. A transaction
   * that has a nonce is decided only after every provider that answers has that nonce in a final block; before,
   * its bytes can still be mined, and the answer is 409. `give_up` ends it as `failed` if its own bytes are not
   * what used the nonce. Of solana, only transactions without a place can be decided. Audited.
   */
  readonly resync: Method<"nonces", "resync", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
    }
    readonly payload: ResyncNonceRequest
  }, NonceDecisionResponse>
  /**
   * Replace open transactions by no-ops.
   *
   * A no-op competes with each open transaction for its nonce. The chain decides which one is mined, so that the
   * transaction may still be executed. A no-op follows the market up to the `gas_price_cap` of the relayer;
   * `max_fee_per_gas` is another limit, for a nonce that no block takes within the cap. It applies to all open
   * transactions of the range, also to those that are being canceled. Only for evm: 409 for stellar, whose
   * accounts have no gaps. Audited.
   */
  readonly clear: Method<"nonces", "clear", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
    }
    readonly payload: ClearNoncesRequest
  }, ClearedNoncesResponse>
  /**
   * End the channels of a relayer's account.
   *
   * Sets `channels.count` of the policy to 0. Channels that no other relayer of the account wants end: what was
   * sent with them is final first, then their accounts are merged into that of the relayer, which gets their
   * reserves back. Also needs the scope `transactions:write`. Only for stellar: 409 for others. Audited.
   */
  readonly releaseChannels: Method<"nonces", "releaseChannels", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
    }
  }, ShownSequencesResponse>
  /**
   * Declare that a test network was restarted.
   *
   * Only for networks with `is_testnet`. Transactions that were ever signed end as `failed` with the code
   * `chain_changed`, and their bytes are never sent again. Audited.
   */
  readonly beginGeneration: Method<"nonces", "beginGeneration", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
    }
  }, ShownSequencesResponse>
}

/** The limits of relayers. */
export interface PoliciesClient {
  /**
   * Try a policy on past transactions.
   *
   * Says what a changed policy would have done to the final transactions of the last days: which it would have
   * refused, and which it would have held because of its `gas_price_cap`. Changes and stores nothing. Relayers on
   * evm only. It also needs the scope `transactions:read`. Repeat it with fewer `days` if it answers 413.
   */
  readonly rehearse: Method<"policies", "rehearse", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
    }
    readonly payload: RehearsePolicyRequest
  }, PolicyRehearsalResponse>
}

/** Base fees of the blocks that could have had a transaction. */
export interface FeesClient {
  /**
   * Get the base fees of a transaction's blocks.
   *
   * Asks a provider of the relayer for the base fees of the blocks from the acceptance of the transaction until it
   * was mined, or until now: beside the fees of its attempts they show why it waited. What it answers for a final
   * transaction is remembered for an hour. Relayers on evm only.
   */
  readonly ofTransaction: Method<"fees", "ofTransaction", {
    readonly params: {
      /** Identifier of the relayer. Example: `"payouts"` */
      readonly relayer_id: string & Brand.Brand<"RelayerId">
      /** Identifier of the transaction. Example: `"4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"` */
      readonly transaction_id: string & Brand.Brand<"TransactionId">
    }
  }, TransactionFeesResponse>
}

/** Private keys, or references to them, that relayers sign with. */
export interface SignersClient {
  /**
   * Create a signer.
   *
   * `plain` stores the given 32-byte key, or generates one if `config.key` is left out. `local` stores the key of
   * a keystore (Web3 Secret Storage version 3). `vault` reads the key from the key-value store of HashiCorp Vault
   * for each use. `vault_transit` signs in Vault with an ed25519 key that never leaves it. `aws_kms` signs in AWS
   * KMS with a key that never leaves it; its curve is found when the signer is created. `google_cloud_kms` does
   * the same in Google Cloud KMS, with a service account or the login of the environment. `azure_key_vault` signs
   * for evm in Azure Key Vault or Managed HSM. `turnkey` signs in Turnkey, whose policies may refuse a signature
   * or wait for an approval. Secrets are encrypted at rest and never returned.
   */
  readonly create: Method<"signers", "create", {
    readonly payload: CreateSignerRequest
  }, SignerResponse>
  /**
   * List signers.
   *
   * In creation order.
   */
  readonly list: Method<"signers", "list", {
    readonly query: {
      /** Number of the page, from 1. 0 means the first page. Example: `1` */
      readonly page?: number
      /**
       * Items on a page. 0 returns no items, only the total. More than 1000 means 1000. If the items exceed 2 MiB, the
       * response is 400: ask for fewer. Example: `10`
       */
      readonly per_page?: number
    }
  }, SignerPageResponse>
  /**
   * Get a signer.
   *
   * Secrets are not returned.
   */
  readonly get: Method<"signers", "get", {
    readonly params: {
      /** Identifier of the signer. Example: `"hot-1"` */
      readonly signer_id: string & Brand.Brand<"SignerId">
    }
  }, SignerResponse>
  /**
   * Delete a signer.
   *
   * Refused while relayers use it; `error` names them. A stored key is lost forever.
   */
  readonly delete: Method<"signers", "delete", {
    readonly params: {
      /** Identifier of the signer. Example: `"hot-1"` */
      readonly signer_id: string & Brand.Brand<"SignerId">
    }
  }, 
    | ResponseEnvelope & {
      /** What was done. Example: `"Signer deleted successfully"` */
      readonly data: "Signer deleted successfully"
    }>
  /**
   * Replace the login of a signer.
   *
   * For a login that was rotated: another secret id of Vault, client secret of Azure, PIN, service account or API
   * key. The body has the type and the whole configuration, as at the creation. The service reads the public key
   * with the new login, which must be the key of the signer, and verifies a probe. If that fails, the response is
   * 400 and the signer keeps its login. Otherwise the next signature uses the new one. Signers of type `plain`,
   * `local` and `aws_kms` have no login. A key with `transaction_limits` may not replace it.
   */
  readonly replaceCredentials: Method<"signers", "replaceCredentials", {
    readonly params: {
      /** Identifier of the signer. Example: `"hot-1"` */
      readonly signer_id: string & Brand.Brand<"SignerId">
    }
    readonly payload: ReplaceSignerCredentialsRequest
  }, SignerResponse>
  /**
   * Verify a signer.
   *
   * Tests each curve of the signer: reads the public key, which must match the addresses, signs random data, and
   * verifies the signature. A failed step also answers 200: see `verified` and `steps`. If a key service has
   * another key than `public_key`, the signer is disabled; a later verification that succeeds enables it.
   */
  readonly verify: Method<"signers", "verify", {
    readonly params: {
      /** Identifier of the signer. Example: `"hot-1"` */
      readonly signer_id: string & Brand.Brand<"SignerId">
    }
  }, SignerVerificationResponse>
}

/** Receivers of webhooks about relayers, and the deliveries to them. */
export interface NotificationsClient {
  /**
   * Create a notification.
   *
   * The signing key is encrypted at rest and never returned; `has_signing_key` says whether there is one.
   */
  readonly create: Method<"notifications", "create", {
    readonly payload: CreateNotificationRequest
  }, NotificationResponse>
  /**
   * List notifications.
   *
   * In creation order.
   */
  readonly list: Method<"notifications", "list", {
    readonly query: {
      /** Number of the page, from 1. 0 means the first page. Example: `1` */
      readonly page?: number
      /**
       * Items on a page. 0 returns no items, only the total. More than 1000 means 1000. If the items exceed 2 MiB, the
       * response is 400: ask for fewer. Example: `10`
       */
      readonly per_page?: number
    }
  }, NotificationPageResponse>
  /**
   * Get a notification.
   *
   * The signing key is not returned.
   */
  readonly get: Method<"notifications", "get", {
    readonly params: {
      /** Identifier of the notification. Example: `"ops"` */
      readonly notification_id: string & Brand.Brand<"NotificationId">
    }
  }, NotificationResponse>
  /**
   * Change a notification.
   *
   * Fields that are absent or null stay. A new `signing_key` signs at once; for 24 hours, webhooks also carry a
   * signature by the previous key. An empty `signing_key` removes both. `paused` stops deliveries; those of the
   * last 24 hours are sent when it is false again.
   */
  readonly update: Method<"notifications", "update", {
    readonly params: {
      /** Identifier of the notification. Example: `"ops"` */
      readonly notification_id: string & Brand.Brand<"NotificationId">
    }
    readonly headers: {
      /**
       * Entity tags, one of which must be the current one, or `*`. Otherwise the response is 412. Example:
       * `"\"12.3\""`
       */
      readonly "if-match"?: string
    }
    readonly payload: UpdateNotificationRequest
  }, NotificationResponse>
  /**
   * Delete a notification.
   *
   * Also deletes its deliveries. Refused while relayers use it.
   */
  readonly delete: Method<"notifications", "delete", {
    readonly params: {
      /** Identifier of the notification. Example: `"ops"` */
      readonly notification_id: string & Brand.Brand<"NotificationId">
    }
    readonly headers: {
      /**
       * Entity tags, one of which must be the current one, or `*`. Otherwise the response is 412. Example:
       * `"\"12.3\""`
       */
      readonly "if-match"?: string
    }
  }, 
    | ResponseEnvelope & {
      /** What was done. Example: `"Notification deleted successfully"` */
      readonly data: "Notification deleted successfully"
    }>
  /**
   * Send a test.
   *
   * Sends one signed webhook of the event `test` now, even if the notification is paused, and returns the result.
   */
  readonly test: Method<"notifications", "test", {
    readonly params: {
      /** Identifier of the notification. Example: `"ops"` */
      readonly notification_id: string & Brand.Brand<"NotificationId">
    }
  }, TestDeliveryResponse>
  /**
   * List deliveries.
   *
   * Deliveries of the last 30 days, newest first, each with its body and the responses of the receiver. The `Link`
   * header leads to the next page.
   */
  readonly deliveries: Method<"notifications", "deliveries", {
    readonly params: {
      /** Identifier of the notification. Example: `"ops"` */
      readonly notification_id: string & Brand.Brand<"NotificationId">
    }
    readonly query: {
      /** Only deliveries in this state. Example: `"delivered"` */
      readonly state?: DeliveryState
      /** Only deliveries of events of this type, or of tests. Example: `"relayer.paused"` */
      readonly type?: EventType | "test"
      /** Only deliveries about this relayer and its transactions. Example: `"payouts"` */
      readonly relayer_id?: string & Brand.Brand<"RelayerId">
      /** Only deliveries of the event with this `id`. Example: `7` */
      readonly event_id?: number
      /** Whether deliveries have their body (default true). Most of the bytes of a list are bodies. Example: `true` */
      readonly body?: boolean
      /** Deliveries on a page, at most 100. Example: `20` */
      readonly limit?: number
      /**
       * Position after the last item of the previous page, from its `Link` header (`rel=next`). Valid for the same
       * list only. Example: `"AAAAAGeD2sQ"`
       */
      readonly cursor?: string
    }
  }, DeliveryListResponse>
  /**
   * Get statistics of deliveries.
   *
   * Deliveries by steps of time, for at most 24 hours, and what waits now. Deliveries are counted at the time of
   * their creation, and tests are left out. A key that is limited to relayers sees those about its relayers.
   */
  readonly statistics: Method<"notifications", "statistics", {
    readonly params: {
      /** Identifier of the notification. Example: `"ops"` */
      readonly notification_id: string & Brand.Brand<"NotificationId">
    }
    readonly query: {
      /**
       * First moment of the series; the first step contains it. The default is an hour ago. Example:
       * `"2026-01-02T03:00:00Z"`
       */
      readonly since?: DateTime.Utc
      /** Seconds of a step. At most 1000 steps fit into a response. Example: `60` */
      readonly step?: number
    }
  }, DeliveryStatisticsResponse>
  /**
   * Get a delivery.
   *
   * A delivery of the last 30 days, with its body and the responses of the receiver.
   */
  readonly delivery: Method<"notifications", "delivery", {
    readonly params: {
      /** Identifier of the notification. Example: `"ops"` */
      readonly notification_id: string & Brand.Brand<"NotificationId">
      /** Identifier of the delivery. Example: `"0191e9a0-7b1c-7000-8000-5e0c3f9b2d11"` */
      readonly delivery_id: string & Brand.Brand<"DeliveryId">
    }
  }, DeliveryResponse>
  /**
   * Retry a delivery.
   *
   * Sends the delivery now, with the same `webhook-id`. A pending delivery keeps its schedule; a delivered or
   * failed one gets one more attempt.
   */
  readonly retry: Method<"notifications", "retry", {
    readonly params: {
      /** Identifier of the notification. Example: `"ops"` */
      readonly notification_id: string & Brand.Brand<"NotificationId">
      /** Identifier of the delivery. Example: `"0191e9a0-7b1c-7000-8000-5e0c3f9b2d11"` */
      readonly delivery_id: string & Brand.Brand<"DeliveryId">
    }
  }, DeliveryResponse>
  /**
   * Replay deliveries.
   *
   * Sends the deliveries of a period again, at most 10,000, in their order and with the same `webhook-id`s.
   * Pending deliveries are not counted, and tests are left out.
   */
  readonly replay: Method<"notifications", "replay", {
    readonly params: {
      /** Identifier of the notification. Example: `"ops"` */
      readonly notification_id: string & Brand.Brand<"NotificationId">
    }
    readonly payload: ReplayDeliveriesRequest
  }, ReplayedDeliveriesResponse>
}

/** Configurations of chains that relayers can be bound to. */
export interface NetworksClient {
  /**
   * Create a network.
   *
   * The network inherits every field that the request leaves out from the network in `from`, which must be of the
   * same type. `rpc_urls` replace the inherited ones; `tags` and `features` are added to the inherited ones. RPC
   * URLs are encrypted at rest and returned masked. A key with `transaction_limits` may not create, change or
   * delete networks. No provider is asked, unless `check` is true: then `metadata.logs` names the RPC URLs that do
   * not work, and why.
   */
  readonly create: Method<"networks", "create", {
    readonly query: {
      /**
       * Whether the providers are asked before the create, for at most 2 seconds. What is wrong is in `metadata.logs`
       * and never keeps the create from succeeding. Example: `true`
       */
      readonly check?: boolean
    }
    readonly payload: CreateNetworkRequest
  }, NetworkResponse>
  /**
   * List networks.
   *
   * Built-in networks first, then created networks in creation order.
   */
  readonly list: Method<"networks", "list", {
    readonly query: {
      /** Number of the page, from 1. 0 means the first page. Example: `1` */
      readonly page?: number
      /**
       * Items on a page. 0 returns no items, only the total. More than 1000 means 1000. If the items exceed 2 MiB, the
       * response is 400: ask for fewer. Example: `10`
       */
      readonly per_page?: number
    }
  }, NetworkPageResponse>
  /**
   * Get a network.
   *
   * The id is the type and the name, such as `evm:sepolia`. Inherited fields are included.
   */
  readonly get: Method<"networks", "get", {
    readonly params: {
      /** Identifier of the network: its type and its name. Example: `"evm:sepolia"` */
      readonly network_id: string & Brand.Brand<"NetworkId">
    }
  }, NetworkResponse>
  /**
   * Change a network.
   *
   * A merge patch (RFC 7396) of the fields that the network defines itself: absent fields stay, null removes a
   * field so that the inherited value applies again. In a built-in network, a value overrides the built-in one,
   * and null restores it. In `rpc_urls`, the n-th occurrence of a masked URL stands for the n-th stored URL with
   * that mask.
   */
  readonly update: Method<"networks", "update", {
    readonly params: {
      /** Identifier of the network: its type and its name. Example: `"evm:sepolia"` */
      readonly network_id: string & Brand.Brand<"NetworkId">
    }
    readonly headers: {
      /**
       * Entity tags, one of which must be the current one, or `*`. Otherwise the response is 412. Example:
       * `"\"12.3\""`
       */
      readonly "if-match"?: string
    }
    readonly payload: UpdateNetworkRequest
  }, NetworkResponse>
  /**
   * Delete a network, or reset a built-in one.
   *
   * Refused while relayers use the network or other networks inherit from it. A built-in network loses its
   * overrides, also while it is in use.
   */
  readonly delete: Method<"networks", "delete", {
    readonly params: {
      /** Identifier of the network: its type and its name. Example: `"evm:sepolia"` */
      readonly network_id: string & Brand.Brand<"NetworkId">
    }
    readonly headers: {
      /**
       * Entity tags, one of which must be the current one, or `*`. Otherwise the response is 412. Example:
       * `"\"12.3\""`
       */
      readonly "if-match"?: string
    }
  }, 
    | ResponseEnvelope & {
      /** What was done. Example: `"Network deleted successfully"` */
      readonly data: "Network deleted successfully" | "Network reset successfully"
    }>
}

/** How the RPC providers of networks do. */
export interface ProvidersClient {
  /**
   * List the providers of a network with their health.
   *
   * The RPC URLs of the network, masked, each with what the last checks of relayers found, of all instances. No
   * provider is asked, unless `check` is true: then each says now which chain it serves and what it can do.
   */
  readonly list: Method<"providers", "list", {
    readonly params: {
      /** Identifier of the network: its type and its name. Example: `"evm:sepolia"` */
      readonly network_id: string & Brand.Brand<"NetworkId">
    }
    readonly query: {
      /**
       * Whether the providers are asked now, for at most 2 seconds: which chain they serve, and what they can do.
       * Example: `true`
       */
      readonly check?: boolean
    }
  }, NetworkProviderListResponse>
}

/** Credentials of callers. The administrator's key, which is in the configuration, may do everything. */
export interface ApiKeysClient {
  /**
   * Create an API key.
   *
   * Only this response contains `key`; the service stores its hash. A key cannot get scopes or relayers that its
   * creator lacks.
   */
  readonly create: Method<"apiKeys", "create", {
    readonly payload: CreateApiKeyRequest
  }, NewApiKeyResponse>
  /**
   * List API keys.
   *
   * In creation order.
   */
  readonly list: Method<"apiKeys", "list", {
    readonly query: {
      /** Number of the page, from 1. 0 means the first page. Example: `1` */
      readonly page?: number
      /**
       * Items on a page. 0 returns no items, only the total. More than 1000 means 1000. If the items exceed 2 MiB, the
       * response is 400: ask for fewer. Example: `10`
       */
      readonly per_page?: number
    }
  }, ApiKeyPageResponse>
  /**
   * Get the own API key.
   *
   * What the API key of the request may do. Every key may ask, whatever its scopes are. In a session of the
   * console, the scopes are those of the session.
   */
  readonly current: Method<"apiKeys", "current", {}, CurrentKeyResponse>
  /**
   * Get an API key.
   *
   * The key itself is not returned. `ETag` names the version of what can be changed; a use of the key does not
   * change it.
   */
  readonly get: Method<"apiKeys", "get", {
    readonly params: {
      /** Identifier of the API key. Example: `"0b9f5a52-5c1e-4f0c-9a43-8f0c3f9b2d11"` */
      readonly key_id: string & Brand.Brand<"ApiKeyId">
    }
  }, ApiKeyResponse>
  /**
   * Change an API key.
   *
   * A merge patch: absent fields stay, null removes. The key itself stays, and requests with it get the new rights
   * at once. The result may do nothing that the caller may not do; a caller cannot change its own key or the keys
   * that it descends from. Rights that a key which it has created still has cannot be removed: the error names
   * those keys.
   */
  readonly update: Method<"apiKeys", "update", {
    readonly params: {
      /** Identifier of the API key. Example: `"0b9f5a52-5c1e-4f0c-9a43-8f0c3f9b2d11"` */
      readonly key_id: string & Brand.Brand<"ApiKeyId">
    }
    readonly headers: {
      /**
       * Entity tags, one of which must be the current one, or `*`. Otherwise the response is 412. Example:
       * `"\"12.3\""`
       */
      readonly "if-match"?: string
    }
    readonly payload: UpdateApiKeyRequest
  }, ApiKeyResponse>
  /**
   * Rotate an API key.
   *
   * Creates a new `key` with the same id, name and scopes. The previous key stays valid for `overlap_seconds`, by
   * default one day; the key before that is revoked at once.
   */
  readonly rotate: Method<"apiKeys", "rotate", {
    readonly params: {
      /** Identifier of the API key. Example: `"0b9f5a52-5c1e-4f0c-9a43-8f0c3f9b2d11"` */
      readonly key_id: string & Brand.Brand<"ApiKeyId">
    }
    readonly payload: RotateApiKeyRequest
  }, NewApiKeyResponse>
  /**
   * Revoke an API key.
   *
   * The key is refused from now on. With `descendants=true`, all keys that it created, directly or through others,
   * are revoked as well; without, the response lists those that stay valid.
   */
  readonly delete: Method<"apiKeys", "delete", {
    readonly params: {
      /** Identifier of the API key. Example: `"0b9f5a52-5c1e-4f0c-9a43-8f0c3f9b2d11"` */
      readonly key_id: string & Brand.Brand<"ApiKeyId">
    }
    readonly query: {
      /** Whether to revoke the keys that this key created, too. Example: `true` */
      readonly descendants?: boolean
    }
  }, RevokedApiKeysResponse>
}

/** Configurations as code: networks, notifications, signers, relayers and API keys in one document. */
export interface ConfigurationClient {
  /**
   * Plan a configuration.
   *
   * Compares a document with what the service has, and changes nothing. Asks no provider and no key service. The
   * key also needs the scope to write the resources of each section of the document, because the service compares
   * secrets; it must not be limited to relayers. An audit record names the secrets that were compared. A caller
   * has one plan at a time.
   */
  readonly plan: Method<"configuration", "plan", {
    readonly payload: PlanConfigurationRequest
  }, ConfigurationPlanResponse>
  /**
   * Apply a configuration.
   *
   * Makes all changes of the plan with this digest, or none. Key services are asked for the keys of new signers
   * first; then one transaction computes the plan again, and writes only if its digest is the same. The key needs
   * what a plan needs. Only this response contains the keys of new API keys. An apply without changes writes
   * nothing.
   */
  readonly apply: Method<"configuration", "apply", {
    readonly payload: ApplyConfigurationRequest
  }, ConfigurationAppliedResponse>
  /**
   * List configurations.
   *
   * Those that were applied, by name.
   */
  readonly list: Method<"configuration", "list", {
    readonly query: {
      /** Number of the page, from 1. 0 means the first page. Example: `1` */
      readonly page?: number
      /**
       * Items on a page. 0 returns no items, only the total. More than 1000 means 1000. If the items exceed 2 MiB, the
       * response is 400: ask for fewer. Example: `10`
       */
      readonly per_page?: number
    }
  }, ConfigurationPageResponse>
  /**
   * Get a configuration.
   *
   * When it was last applied, by which caller, and from which revision.
   */
  readonly get: Method<"configuration", "get", {
    readonly params: {
      /** Name of the configuration. It owns the objects of the document. Example: `"payments"` */
      readonly configuration: string
    }
  }, ConfigurationResponse>
  /**
   * Export a configuration.
   *
   * What the configuration owns, as a document. Secrets are `{stored: true}`, and hidden parts of URLs are masked:
   * both stand for what the service has, so that a plan of the document has no changes. The key needs the scopes
   * to read all sections. The key of the caller is left out, because the caller cannot change it.
   */
  readonly document: Method<"configuration", "document", {
    readonly params: {
      /** Name of the configuration. It owns the objects of the document. Example: `"payments"` */
      readonly configuration: string
    }
    readonly query: {
      /** Whether the document has everything of the service, under this name. Example: `true` */
      readonly all?: boolean
    }
  }, ConfigurationDocumentResponse>
}

/** Record of every change: who changed what, and when. */
export interface AuditClient {
  /**
   * List the audit log.
   *
   * Lists the changes that were committed before the request. The `Link` header leads to the next page.
   */
  readonly list: Method<"audit", "list", {
    readonly query: {
      /** Only records of this action. Example: `"relayer.updated"` */
      readonly action?: KnownAuditAction
      /** Only records about this kind of resource. Example: `"relayer"` */
      readonly resource?: KnownAuditResource
      /** Only records about this resource. Example: `"payouts"` */
      readonly resource_id?: string
      /** Only changes by this API key. Example: `"administrator"` */
      readonly key_id?: string
      /** Only changes by this request. Example: `"4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"` */
      readonly request_id?: string
      /** Only changes from this moment on. Example: `"2026-01-01T00:00:00Z"` */
      readonly since?: DateTime.Utc
      /** Only changes before this moment. Example: `"2026-02-01T00:00:00Z"` */
      readonly until?: DateTime.Utc
      /** Records on a page, at most 1000. Example: `50` */
      readonly limit?: number
      /** Which records come first. The default is `newest`. Example: `"oldest"` */
      readonly order?: "newest" | "oldest"
      /**
       * Position after the last item of the previous page, from its `Link` header (`rel=next`). Valid for the same
       * list only. Example: `"AAAAAGeD2sQ"`
       */
      readonly cursor?: string
    }
  }, AuditRecordListResponse>
  /**
   * Verify the audit log.
   *
   * Checks the chain of hashes of a few thousand records. If the log has more, the response has `next`: send it as
   * `from` to continue, until a response has none. Store the last `head` elsewhere and send it as `position` and
   * `hash` the next time: this also detects records that were cut off, and a log that was rewritten. An instance
   * verifies for one caller at a time; others get 429 with `Retry-After`.
   */
  readonly verify: Method<"audit", "verify", {
    readonly query: {
      /** `position` of a stored head, which the log must still contain. Example: `42` */
      readonly position?: number
      /** `hash` of the stored head. Example: `"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"` */
      readonly hash?: string
      /**
       * `next` of the previous request. If absent, from the beginning of the log. Example:
       * `"42:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`
       */
      readonly from?: AuditHead
    }
  }, AuditVerificationResponse>
  /**
   * Export the audit log.
   *
   * Records in the form that is hashed, oldest first, for a verification without the service. The `Link` header
   * leads to the next page.
   */
  readonly export: Method<"audit", "export", {
    readonly query: {
      /** Only records after this position. If absent, from the first record. Example: `42` */
      readonly after?: number
      /** Only records up to this position. If absent, to the last record. Example: `1042` */
      readonly until?: number
    }
  }, AuditExportRecordListResponse>
  /**
   * List audit checkpoints.
   *
   * All checkpoints, newest first.
   */
  readonly checkpoints: Method<"audit", "checkpoints", {}, AuditCheckpointListResponse>
  /**
   * Create an audit checkpoint.
   *
   * Makes a checkpoint at the last record.
   */
  readonly checkpoint: Method<"audit", "checkpoint", {}, AuditCheckpointResponse>
  /**
   * Prune the audit log.
   *
   * Deletes the records up to the checkpoint: at once from every list, and in the background from the database.
   * The rest of the log still verifies, from the checkpoint. Export the records first. Only the administrator may
   * do this.
   */
  readonly prune: Method<"audit", "prune", {
    readonly params: {
      /** Position of the checkpoint. Example: `42` */
      readonly position: number
    }
    readonly payload: PruneAudit
  }, AuditCheckpointResponse>
}

/** Facts that the service publishes about its resources, in one order. */
export interface EventsClient {
  /**
   * List events, or follow them.
   *
   * Events have one order, without gaps and without late insertions. A reader that continues after the last event,
   * by the `Link` header or with `after`, gets each event once. A response holds up to `limit` events, and ends at
   * about 1 MiB. There is always a next page, which may be empty: `wait` waits for its first event. With `Accept:
   * text/event-stream`, the response is an endless stream of Server-Sent Events: first the past events, then each
   * new event. Reconnect with `Last-Event-ID`, as `EventSource` does. Old events are deleted: a reader that
   * continues from one of them gets 400, which names the oldest position to continue from. The service closes a
   * stream whose reader takes no events for 30 seconds. An API key may have 20 streams open on an instance; the
   * next one gets 429. With `before`, a response has the past, the newest event first: `before=latest` has the
   * newest events, and the `Link` header leads to older ones until there are none. An API key that is limited to
   * some relayers gets only events about these relayers and their transactions.
   */
  readonly list: Method<"events", "list", {
    readonly query: {
      /**
       * `id` of the last event that was read. 0 starts at the first event, `latest` after the newest one.
       * `Last-Event-ID` takes precedence. Example: `7`
       */
      readonly after?: number | "latest"
      /**
       * `id` of an event, or `latest`: the events before it, the newest first. Not together with `after`, `wait` or a
       * stream. Example: `7`
       */
      readonly before?: number | "latest"
      /** Only events of these types; may be repeated. Example: `["relayer.paused"]` */
      readonly type?: ReadonlyArray<KnownEventType>
      /** Only events about this relayer and its transactions. Example: `"payouts"` */
      readonly relayer_id?: string & Brand.Brand<"RelayerId">
      /** Only events about this resource. Example: `"payouts"` */
      readonly resource_id?: string
      /** Events in a response, from 1 to 1000. A stream has no end. Example: `100` */
      readonly limit?: number
      /** Seconds to wait for the first event if there is none yet, at most 25. Example: `20` */
      readonly wait?: number
    }
    readonly headers: {
      /** Like `after`, and takes precedence over it. `EventSource` sends it when it reconnects. Example: `42` */
      readonly "last-event-id"?: number
    }
  }, EventListResponse>
}

/** The key that encrypts all secrets in the database. */
export interface MasterKeyClient {
  /**
   * Rotate the master key.
   *
   * Encrypts every secret in the database again, without downtime: with the master key of the configuration, or,
   * if the service keeps its master key in a file, with a new one. The response is sent when no secret needs the
   * previous keys. The rotation continues if the caller disconnects. Only the administrator may rotate a key that
   * the service keeps in a file, because copies of that file become outdated: the response names the files to
   * copy. Older backups need the older key.
   */
  readonly rotate: Method<"masterKey", "rotate", {}, MasterKeyRotationResponse>
}

/** What is wrong, since when, what it holds back, and what helps. */
export interface AttentionClient {
  /**
   * List what needs attention.
   *
   * At most 50 items, the most important first; none if nothing needs attention. What names the same host of an
   * RPC provider is one item, at the place of its most important part. Transactions are counted with
   * `transactions:read`, receivers are shown with `notifications:read`, API keys with `api-keys:read`, rows of
   * signers and networks that cannot be verified with `signers:read` and `networks:read`; a key that is limited to
   * relayers sees theirs. Items are those of all instances, except for `service`. A response may be two seconds
   * old.
   */
  readonly list: Method<"attention", "list", {}, AttentionItemListResponse>
}

/** Finds resources by ids, hashes and addresses. */
export interface SearchClient {
  /**
   * Find a resource.
   *
   * At most 20 resources that fit `q`, and only of the kinds that the API key may read: each kind needs its scope
   * of reading. Every key may ask. Ids, hashes, addresses and `external_id` are compared as a whole, names of
   * relayers by their beginning.
   */
  readonly find: Method<"search", "find", {
    readonly query: {
      /**
       * An id, a hash, a signature, an address, the URL of an explorer that ends with one of them, an `external_id`,
       * the name of a relayer, a relayer and a nonce or sequence such as `payouts#42`, or the `x-request-id` of a
       * request, for what it has changed. Spaces around it have no meaning. Hexadecimal digits are read in any case,
       * base58 and addresses of stellar exactly. Example: `"order-1234"`
       */
      readonly q: string
    }
  }, FoundItemListResponse>
}

/** Numbers of transactions over time. */
export interface StatisticsClient {
  /**
   * Get statistics of transactions.
   *
   * How many transactions became final in each step, for at most seven days, how long they took to be confirmed,
   * and how many are open now. A series that begins more than six hours ago has steps of whole quarters of an
   * hour; its times are accurate to 10 %. They are those of all instances. A key that is limited to relayers sees
   * theirs. A response may be two seconds old.
   */
  readonly get: Method<"statistics", "get", {
    readonly query: {
      /**
       * First moment of the series; the first step contains it. The default is an hour ago. Example:
       * `"2026-01-02T03:00:00Z"`
       */
      readonly since?: DateTime.Utc
      /** Seconds of a step. At most 1000 steps fit into a response. Example: `60` */
      readonly step?: number
      /** Only transactions of this relayer. Example: `"payouts"` */
      readonly relayer_id?: string & Brand.Brand<"RelayerId">
    }
  }, TransactionStatisticsResponse>
}

/** Processes that share the database. */
export interface InstancesClient {
  /**
   * List instances.
   *
   * The processes that share the database, the one that started first at the beginning. One that stops is removed,
   * and one that was killed after an hour.
   */
  readonly list: Method<"instances", "list", {}, InstanceListResponse>
}

/** Health and readiness of an instance. */
export interface SystemClient {
  /**
   * Health.
   *
   * Answers 200 with the text OK as long as the process runs. Depends on nothing else. The header
   * `x-effect-relayer: v1` identifies the service.
   */
  readonly health: Method<"system", "health", {}, "OK">
  /**
   * Health (alias).
   *
   * The same as `/v1/health`, at the path that other clients call.
   */
  readonly healthAlias: Method<"system", "healthAlias", {}, "OK">
  /**
   * Readiness.
   *
   * 200 while the database answers, its schema is current and the process is not draining; 503 otherwise. If
   * another component is unhealthy, such as a background job that does not do its work, the status is `degraded`
   * and the response stays 200: the instance still answers requests, and other instances share the work.
   */
  readonly ready: Method<"system", "ready", {}, Readiness>
}

/**
 * What the service measures, for Prometheus. Needs no API key. An instance may require a bearer token of its own
 * for them.
 */
export interface MetricsClient {
  /**
   * Names of the metrics.
   *
   * Answers a JSON array of names. If `Accept` prefers `text/plain` or OpenMetrics, it answers the values of all
   * metrics.
   */
  readonly names: Method<"metrics", "names", {}, ReadonlyArray<string> | string>
  /**
   * Values of one metric.
   *
   * In the Prometheus text format.
   */
  readonly one: Method<"metrics", "one", {
    readonly params: {
      /** Name of the metric. Example: `"requests_total"` */
      readonly metric_name: string
    }
  }, string>
  /**
   * Values of all metrics.
   *
   * In the Prometheus text format.
   */
  readonly scrape: Method<"metrics", "scrape", {}, string>
}

/** A credential of a caller. */
export interface ApiKey {
  /** Identifier of the API key. Example: `"0b9f5a52-5c1e-4f0c-9a43-8f0c3f9b2d11"` */
  readonly id: string & Brand.Brand<"ApiKeyId">
  /** Name of the key, for people. Example: `"Payout service"` */
  readonly name: string
  /** What the key may do. Example: `["relayers:read","relayers:write"]` */
  readonly scopes: ReadonlyArray<Scope>
  /**
   * The only relayers that the key can use. If absent, it can use all relayers, including later ones. A deleted
   * relayer is removed from the list; a key whose list is empty can use none. Example: `["payouts"]`
   */
  readonly relayer_ids?: ReadonlyArray<string & Brand.Brand<"RelayerId">>
  /** When the key was created. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly created_at: DateTime.Utc
  /** When the key expires. If absent, it does not expire. Example: `"2030-01-01T00:00:00.000Z"` */
  readonly expires_at?: DateTime.Utc
  /**
   * What the key may send, per network type: nothing on networks of a type without limits. If absent, everything
   * that the policies of its relayers allow. A key that a limited key creates has at most the same limits.
   * Example:
   * `{"max_value":"1000000000000000000","max_fee_per_day":"50000000000000000","solana":{"max_value":"2000000000","max_fee_per_day":"50000000"}}`
   */
  readonly transaction_limits?: TransactionLimits
  /** Until when the key before the last rotation is valid. Example: `"2026-01-03T03:04:05.678Z"` */
  readonly previous_expires_at?: DateTime.Utc
  /** When the key was last used, to the minute. Example: `"2026-01-02T03:05:00.000Z"` */
  readonly last_used_at?: DateTime.Utc
  /** The network address that the key was last used from. Example: `"203.0.113.7"` */
  readonly last_used_from?: string
  /** Id of the caller that created the key. Absent for keys of earlier versions. Example: `"administrator"` */
  readonly created_by?: string
  /**
   * The configuration that owns the resource: its next apply reverts other changes. Absent while no configuration
   * owns it. Example: `"payments"`
   */
  readonly managed_by?: string
}

export interface ApiKeyPageResponse extends ResponseEnvelope {
  /** The items of this page. */
  readonly data: ReadonlyArray<ApiKey>
  /** The page that was served and the number of all items. */
  readonly pagination: Pagination
}

export interface ApiKeyResponse extends ResponseEnvelope {
  /** A credential of a caller. */
  readonly data: ApiKey
}

/** An object that an apply has changed. */
export interface AppliedChange {
  /** The section of the object. Example: `"relayers"` */
  readonly kind: "networks" | "notifications" | "signers" | "relayers" | "api_keys"
  /** The id of the object. Example: `"treasury"` */
  readonly id: string
  /** What happened to it. Example: `"create"` */
  readonly action: "create" | "adopt" | "update" | "replace" | "delete" | "keep" | "none"
}

export interface ApplyConfigurationRequest {
  /**
   * The configuration, as `relayers.schema.json` describes it, with values in the places of references to secrets.
   * Example: `{"version":1,"name":"payments","notifications":{"ops":{"url":"https://hooks.example.com/relayer"}}}`
   */
  readonly document: { readonly [key: string]: unknown }
  /** What the plan may do beyond creating and changing objects. */
  readonly options?: PlanOptions
  /**
   * Texts that are shown instead of values of the document, by path. Example:
   * `{"notifications.ops.url":"https://${RELAYER_HOST}/relayer"}`
   */
  readonly templates?: { readonly [key: string]: string }
  /** The digest of the plan that is applied. Example: `"3kT9pD0cQ1u5mB7rW2xYzA4vN6sL8eHjKfGtRiOqPfQ"` */
  readonly digest: string
  /**
   * `seen` of the plan, so that a refusal can name what has changed since. Example:
   * `{"relayers.treasury":"fQ3kT9pD0cQ1u5mB"}`
   */
  readonly seen?: { readonly [key: string]: string }
  /**
   * What the document is from, such as the hash of a commit. It is recorded. Example:
   * `"9fceb02d0ae598e95dc970b74767f19372d61af8"`
   */
  readonly revision?: string
}

/** Something that needs the attention of an operator. */
export interface AttentionItem {
  /**
   * `unreadable`: rows of relayers, signers or networks cannot be verified, so that nothing is done with them.
   * `decision`: an operator has to decide about transactions. `providers`: an RPC provider or a key service does
   * not do its part. `held`: transactions wait for something else. `receiver`: a webhook receiver fails.
   * `service`: a job or the audit log of this instance is unhealthy, or a network needs a newer version of the
   * service. Items are in this order. Example: `"relayers_disabled"`
   */
  readonly kind: AttentionKind
  /**
   * Cause, for programs: a code of transactions, a type of health, or a name of this list. Example:
   * `"low_balance"`
   */
  readonly code: string
  /** Since when. Absent if it is not known. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly since?: DateTime.Utc
  /** When something is given up, expires, or is decided by time. Example: `"2026-01-03T03:04:05.678Z"` */
  readonly until?: DateTime.Utc
  /** The relayers of an item. */
  readonly relayers: AttentionRelayers
  /** The transactions that an item holds back. */
  readonly transactions: AttentionTransactions
  /** Host of the RPC provider. Example: `"rpc.example.com"` */
  readonly host?: string
  /** The only resource that an item is about. */
  readonly resource?: AttentionResource
  /** What to send where, for at most five relayers. Only items of the kind `funds` have it. */
  readonly funding?: ReadonlyArray<Funding>
  /** What is the case, for people. Example: `"An operator has paused its relayer."` */
  readonly reason: string
  /** What happens next, and what helps, for people. Example: `"More RPC URLs help."` */
  readonly next: string
}

export interface AttentionItemListResponse extends ResponseEnvelope {
  /** The items of this page. */
  readonly data: ReadonlyArray<AttentionItem>
}

/**
 * `unreadable`: rows of relayers, signers or networks cannot be verified, so that nothing is done with them.
 * `decision`: an operator has to decide about transactions. `providers`: an RPC provider or a key service does
 * not do its part. `held`: transactions wait for something else. `receiver`: a webhook receiver fails.
 * `service`: a job or the audit log of this instance is unhealthy, or a network needs a newer version of the
 * service. Items are in this order.
 */
export type AttentionKind = 
  | "unreadable"
  | "decision"
  | "relayers_disabled"
  | "providers"
  | "funds"
  | "held"
  | "receiver"
  | "relayers_degraded"
  | "service"
  | "key_expires"

/** The relayers of an item. */
export interface AttentionRelayers {
  /** Number of relayers. Example: `3` */
  readonly count: number
  /** How many of them the service has disabled. Example: `2` */
  readonly disabled: number
  /** How many of them work, but not with all of their RPC URLs. Example: `1` */
  readonly degraded: number
  /** At most five of them. Example: `["payouts"]` */
  readonly ids: ReadonlyArray<string>
}

/** The only resource that an item is about. */
export interface AttentionResource {
  /** Kind of the resource. Example: `"relayer"` */
  readonly kind: "relayer" | "notification" | "key" | "signer" | "network"
  /** Identifier of the resource. Example: `"payouts"` */
  readonly id: string
}

/** The transactions that an item holds back. */
export interface AttentionTransactions {
  /** Number of open transactions that wait. Example: `12` */
  readonly count: number
  /** When the oldest of them was accepted. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly oldest?: DateTime.Utc
}

/** What was done to which kind of resource. Later versions of the service may add actions. */
export type AuditAction = KnownAuditAction | (string & Record<never, never>)

/** Stands for the records up to its position. */
export interface AuditCheckpoint {
  /** Position of the newest record. Example: `42` */
  readonly position: number
  /** Hash of the newest record. Example: `"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"` */
  readonly hash: string
  /** When the checkpoint was made. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly at: DateTime.Utc
  /** When its records were pruned. Absent if they were not. Example: `"2026-01-03T03:04:05.678Z"` */
  readonly pruned_at?: DateTime.Utc
}

export interface AuditCheckpointListResponse extends ResponseEnvelope {
  /** The items of this page. */
  readonly data: ReadonlyArray<AuditCheckpoint>
}

export interface AuditCheckpointResponse extends ResponseEnvelope {
  /** Stands for the records up to its position. */
  readonly data: AuditCheckpoint
}

/** A record of the audit log in the form that is hashed. */
export interface AuditExportRecord {
  /** Position of the newest record. Example: `42` */
  readonly position: number
  /** SHA-256 of this record and of the hash of the previous record, in hex. Example: `"9f86d081"` */
  readonly hash: string
  /** Number of the record in the database. Example: `"57"` */
  readonly id: string
  /** When the change was made, in microseconds since 1970. Example: `"1767323045678000"` */
  readonly at_micros: string
  /** Id of the API key that made the change. Example: `"administrator"` */
  readonly key_id: string
  /** What was done. Example: `"relayer.updated"` */
  readonly action: string
  /** The kind of resource. Example: `"relayer"` */
  readonly resource: string
  /** Identifier of the changed resource. Example: `"payouts"` */
  readonly resource_id: string
  /** The `x-request-id` of the request. Example: `"4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"` */
  readonly request_id: string | null
  /** The network address of the client. Example: `"192.0.2.7"` */
  readonly client_address: string | null
  /** The resource before the change, as JSON text. Example: `"{\"paused\":false}"` */
  readonly before: string | null
  /** The resource after the change, as JSON text. Example: `"{\"paused\":true}"` */
  readonly after: string | null
}

export interface AuditExportRecordListResponse extends ResponseEnvelope {
  /** The items of this page. */
  readonly data: ReadonlyArray<AuditExportRecord>
}

/** The newest record of the chain. */
export interface AuditHead {
  /** Position of the newest record. Example: `42` */
  readonly position: number
  /** Hash of the newest record. Example: `"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"` */
  readonly hash: string
}

/** A record of the audit log. */
export interface AuditRecord {
  /** Position in the log, from 1, without gaps. Example: `42` */
  readonly position: number
  /** When the change was made. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly at: DateTime.Utc
  /**
   * Id of the API key that made the change; `administrator` is the key of the configuration. Example:
   * `"administrator"`
   */
  readonly key_id: string
  /**
   * What was done to which kind of resource. Later versions of the service may add actions. Example:
   * `"relayer.updated"`
   */
  readonly action: AuditAction
  /** A kind of resource. Later versions of the service may add kinds. Example: `"relayer"` */
  readonly resource: AuditResource
  /** Identifier of the changed resource. Example: `"payouts"` */
  readonly resource_id: string
  /** The `x-request-id` of the request. Example: `"4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"` */
  readonly request_id?: string
  /** Network address of the client. Absent in records of versions that did not store it. Example: `"198.51.100.7"` */
  readonly client_address?: string
  /** The resource before the change. Absent if it was created, or if it is unchanged. Example: `{"paused":false}` */
  readonly before?: unknown
  /** The resource after the change, or what was done. Absent if it was deleted. Example: `{"paused":true}` */
  readonly after?: unknown
  /**
   * SHA-256 of this record and of the hash of the previous record, in hex. Any other value shows that the record
   * was tampered with. Example: `"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`
   */
  readonly hash: string
}

export interface AuditRecordListResponse extends ResponseEnvelope {
  /** The items of this page. */
  readonly data: ReadonlyArray<AuditRecord>
}

/** A kind of resource. Later versions of the service may add kinds. */
export type AuditResource = KnownAuditResource | (string & Record<never, never>)

/** The result of a verification. */
export interface AuditVerification {
  /** Whether every record that was read is as it was written. Example: `true` */
  readonly valid: boolean
  /** Records that this request read. Example: `42` */
  readonly checked: number
  /** The newest record of the chain. */
  readonly head?: AuditHead
  /**
   * The log has more records: send this as `from` to verify them. Absent if the end was reached. Example:
   * `"42:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`
   */
  readonly next?: string
  /** Position of the first record that was changed or is missing. Example: `17` */
  readonly broken_at?: number
}

export interface AuditVerificationResponse extends ResponseEnvelope {
  /** The result of a verification. */
  readonly data: AuditVerification
}

export interface AwsKmsSigner {
  /** Identifier of the signer. Example: `"hot-1"` */
  readonly id: string & Brand.Brand<"SignerId">
  /** Where the key is stored. Example: `"aws_kms"` */
  readonly type: "aws_kms"
  /** Where the key is in AWS KMS. */
  readonly config: {
    /** Region of the key. Example: `"eu-west-1"` */
    readonly region: string
    /** Id, ARN, alias (`alias/…`) or ARN of an alias of the key. Example: `"alias/relayer-hot-1"` */
    readonly key_id: string
    /**
     * ARN of the key that signs. An alias is only resolved when the signer is created. An addition to the common
     * wire format. Example: `"arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"`
     */
    readonly key_arn: string
  }
  /** Curve of a signature: secp256k1 for evm, ed25519 for solana and stellar. Example: `"secp256k1"` */
  readonly curve: Curve
  /**
   * The public key in hex: the uncompressed point of 65 bytes for secp256k1, 32 bytes for ed25519. An addition to
   * the common wire format. Example: `"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"`
   */
  readonly public_key: string
  /** The addresses of the key on the network types of its curve. */
  readonly addresses: SignerAddressesOfCurve
  /** Why the service no longer signs with the key. A successful verification enables the signer again. */
  readonly disabled_reason?: SignerDisabledReason
  /**
   * The configuration that owns the resource: its next apply reverts other changes. Absent while no configuration
   * owns it. Example: `"payments"`
   */
  readonly managed_by?: string
}

export interface AzureKeyVaultSigner {
  /** Identifier of the signer. Example: `"hot-1"` */
  readonly id: string & Brand.Brand<"SignerId">
  /** Where the key is stored. Example: `"azure_key_vault"` */
  readonly type: "azure_key_vault"
  /** The configuration without its secrets. */
  readonly config: {
    /**
     * How the service logs in: with a client secret, with the managed identity of its machine, or with a token file
     * (workload identity). The default is client_secret. Example: `"client_secret"`
     */
    readonly auth_type: "client_secret" | "managed_identity" | "workload_identity"
    /** Directory (tenant) of the application. Example: `"contoso.onmicrosoft.com"` */
    readonly tenant_id?: string
    /** Client id of the application or of a user-assigned identity. Example: `"3d1e6a0f-6d0f-4c4c-9d1c-6f7d2f6d8a11"` */
    readonly client_id?: string
    /** URL of the vault or Managed HSM. It determines the login host. Example: `"https://relayers.vault.azure.net"` */
    readonly vault_url: string
    /** Name of the key. Example: `"hot-1"` */
    readonly key_name: string
    /**
     * Version of the key. If absent, the signer keeps the version that is current when it is created. Example:
     * `"9885aa558e8d448789683188f8c194b0"`
     */
    readonly key_version?: string
    /**
     * The identifier of the version that signs. An addition to the common wire format. Example:
     * `"https://relayers.vault.azure.net/keys/hot-1/9885aa558e8d448789683188f8c194b0"`
     */
    readonly kid: string
  }
  /** Curve of a signature: secp256k1 for evm, ed25519 for solana and stellar. Example: `"secp256k1"` */
  readonly curve: Curve
  /**
   * The public key in hex: the uncompressed point of 65 bytes for secp256k1, 32 bytes for ed25519. An addition to
   * the common wire format. Example: `"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"`
   */
  readonly public_key: string
  /** The addresses of the key on the network types of its curve. */
  readonly addresses: SignerAddressesOfCurve
  /** Why the service no longer signs with the key. A successful verification enables the signer again. */
  readonly disabled_reason?: SignerDisabledReason
  /**
   * The configuration that owns the resource: its next apply reverts other changes. Absent while no configuration
   * owns it. Example: `"payments"`
   */
  readonly managed_by?: string
}

/** The balance of a relayer's account in an hour. */
export interface BalancePoint {
  /** Beginning of the hour, or the moment of the last reading. Example: `"2026-01-02T03:00:00.000Z"` */
  readonly at: DateTime.Utc
  /** Balance at its end, in `unit`. Example: `"1000000000000000000"` */
  readonly balance: bigint
}

/** What the balance of a relayer was, and how long it suffices. */
export interface BalanceTrend {
  /** The chain's smallest unit. Example: `"wei"` */
  readonly unit: "wei" | "lamport" | "stroop"
  /**
   * Hours in which the balance changed, the oldest first, and the last reading. Between two points it stayed the
   * same. Example: `[]`
   */
  readonly points: ReadonlyArray<BalancePoint>
  /**
   * What left the account in the period, for one day: the sum of all decreases. What was sent to it is not
   * subtracted. Absent for less than two hours. Example: `"20000000000000000"`
   */
  readonly spent_per_day?: bigint
  /**
   * For how long the balance above `min_balance` suffices if as much is spent. Absent if nothing was spent.
   * Example: `432000`
   */
  readonly runway_seconds?: number
}

export interface BalanceTrendResponse extends ResponseEnvelope {
  /** What the balance of a relayer was, and how long it suffices. */
  readonly data: BalanceTrend
}

/** The base fee of a block. */
export interface BlockFee {
  /** Height of the block. Example: `19000000` */
  readonly number: number
  /**
   * When it was made. Between the first and the last block, computed as if all took the same time. Example:
   * `"2026-11-22T12:00:00.000Z"`
   */
  readonly at: DateTime.Utc
  /** Base fee in wei per gas. Example: `"42000000000"` */
  readonly base_fee: bigint
}

/** A transaction that is to be built with a payment of its fee. */
export interface BuildSolanaTransactionRequest {
  /**
   * The user's transaction, legacy, version 0 or version 1, whose fee payer is the user, as base64 or as an array
   * of bytes. Example: `"AQAAAA=="`
   */
  readonly transaction: string | ReadonlyArray<number>
  /** Mint of the token. Example: `"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"` */
  readonly fee_token: string
}

/** A transaction to build, as the network type of the relayer has it. */
export type BuildSponsoredTransactionRequest = BuildSolanaTransactionRequest | BuildStellarTransactionRequest

/** A transaction that is to be built with a payment of its fee. */
export interface BuildStellarTransactionRequest {
  /**
   * An envelope of the user in base64, signed or not, instead of `operations`. Its signatures are dropped.
   * Example: `"AAAAAgAAAAA="`
   */
  readonly transaction_xdr?: string
  /** 1 to 99 operations, or one call of a contract, instead of `transaction_xdr`. */
  readonly operations?: ReadonlyArray<StellarOperation>
  /**
   * The user's account. It must be given with `operations`. Example:
   * `"GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"`
   */
  readonly source_account?: string
  /**
   * The token as `allowed_tokens` of the policy names it: CODE:ISSUER, or for a call of a contract the contract of
   * the token. Example: `"USDC:GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"`
   */
  readonly fee_token: string
}

/** A transaction for the user to sign and send. */
export interface BuiltSolanaTransaction {
  /**
   * The unsigned transaction as base64: a payment to the relayer, and then the instructions of the user. Example:
   * `"AQAAAA=="`
   */
  readonly transaction: string
  /** The fee in units of the token. Example: `"750"` */
  readonly fee_in_spl: bigint
  /** What the fee is worth, in lamports. Example: `"5000"` */
  readonly fee_in_lamports: bigint
  /** Mint of the token. Example: `"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"` */
  readonly fee_token: string
  /** Last block height at which it can land. Example: `280000150` */
  readonly valid_until_blockheight: number
}

/** A transaction for the user to sign and send. */
export interface BuiltStellarTransaction {
  /**
   * The unsigned envelope in base64: the operations of the user, and then a payment to the relayer, or the
   * relayer's call of the forwarder. Example: `"AAAAAgAAAAA="`
   */
  readonly transaction: string
  /** The fee in units of the token, with the margin of the policy. Example: `"3000"` */
  readonly fee_in_token: bigint
  /** The same in whole tokens. Example: `"0.0003"` */
  readonly fee_in_token_ui: string
  /**
   * Only for a call of a contract: the most that the user lets the forwarder take, which is the fee with the
   * slippage of the policy. Example: `"3030"`
   */
  readonly max_fee_in_token?: bigint
  /** The same in whole tokens. Example: `"0.000303"` */
  readonly max_fee_in_token_ui?: string
  /** What the fee is worth, in stroops. Example: `"1200"` */
  readonly fee_in_stroops: bigint
  /** The token. Example: `"USDC:GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"` */
  readonly fee_token: string
  /**
   * Only for a call of a contract: the authorization that the user signs, in base64. It is sent with the envelope
   * as `signed_auth_entry`. Example: `"AAAAAQAAAAA="`
   */
  readonly user_auth_entry?: string
  /** Until when the envelope is valid. Example: `"2026-11-22T12:02:00.000Z"` */
  readonly valid_until: DateTime.Utc
}

/** What a cancel of all open transactions did. */
export interface CanceledTransactions {
  /**
   * Transactions that are canceled, or that a no-op is to replace. Example:
   * `["4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"]`
   */
  readonly queued_for_cancellation_transaction_ids: ReadonlyArray<string & Brand.Brand<"TransactionId">>
  /** Transactions that can no longer be canceled, because they changed meanwhile. Example: `[]` */
  readonly failed_to_queue_transaction_ids: ReadonlyArray<string & Brand.Brand<"TransactionId">>
  /** How many open transactions were processed. Example: `1` */
  readonly total_processed: number
  /**
   * How many open transactions are left, because the time of the request was over. Repeat the request to continue.
   * Absent if there are none. Example: `4000`
   */
  readonly remaining?: number
}

export interface CanceledTransactionsResponse extends ResponseEnvelope {
  /** What a cancel of all open transactions did. */
  readonly data: CanceledTransactions
}

/** Nonces whose open transactions are replaced by no-ops. */
export interface ClearNoncesRequest {
  /** First nonce. Example: `10` */
  readonly from: number
  /** Last nonce of the range, inclusive. At most 999 above the first one. Example: `11` */
  readonly to: number
  /**
   * The most that the no-ops may offer, in wei per gas, also above the `gas_price_cap` of the relayer. If absent:
   * what the cap allows; without a cap, at least twice the price of `fast` at the moment. Example:
   * `"200000000000"`
   */
  readonly max_fee_per_gas?: bigint
}

/** An open transaction that has a nonce of the range. */
export interface ClearedNonce {
  /** Transaction that has the nonce. Example: `"4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"` */
  readonly transaction_id: string & Brand.Brand<"TransactionId">
  /** Its nonce. Example: `10` */
  readonly nonce: number
  /** State of the transaction. Example: `"submitted"` */
  readonly status: TransactionStatus
  /** What it waits for. Example: `"canceling"` */
  readonly code?: TransactionCode
  /** Whether the command changed it. A transaction that is mined stays as it is. Example: `true` */
  readonly changed: boolean
}

/** What the command changed, and what has the nonces. */
export interface ClearedNonces {
  /** Transactions that it changed. Example: `["4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"]` */
  readonly transaction_ids: ReadonlyArray<string & Brand.Brand<"TransactionId">>
  /**
   * The relayer's open transactions that have a nonce of the range. Empty: there are none. Example:
   * `[{"transaction_id":"4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b","nonce":10,"status":"submitted","code":"canceling","changed":true}]`
   */
  readonly transactions: ReadonlyArray<ClearedNonce>
}

export interface ClearedNoncesResponse extends ResponseEnvelope {
  /** What the command changed, and what has the nonces. */
  readonly data: ClearedNonces
}

/** A configuration that was applied. */
export interface Configuration {
  /** Name of the configuration. It owns the objects of the document. Example: `"payments"` */
  readonly name: string
  /**
   * Identifies the document, the options and what the service has. It changes when one of them changes. Example:
   * `"3kT9pD0cQ1u5mB7rW2xYzA4vN6sL8eHjKfGtRiOqPfQ"`
   */
  readonly digest: string
  /** What the document was from, such as the hash of a commit. Example: `"9fceb02"` */
  readonly revision?: string
  /** When it was last applied. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly applied_at: DateTime.Utc
  /** The caller that applied it: the id of its API key. Example: `"administrator"` */
  readonly applied_by: string
  /** How many objects it owns. Example: `45` */
  readonly objects: number
}

/** What an apply has done. */
export interface ConfigurationApplied {
  /** Name of the configuration. It owns the objects of the document. Example: `"payments"` */
  readonly name: string
  /**
   * Identifies the document, the options and what the service has. It changes when one of them changes. Example:
   * `"3kT9pD0cQ1u5mB7rW2xYzA4vN6sL8eHjKfGtRiOqPfQ"`
   */
  readonly digest: string
  /** How many objects were changed. */
  readonly counts: PlanCounts
  /** The objects that were changed, in order. */
  readonly changed: ReadonlyArray<AppliedChange>
  /** The new API keys. */
  readonly keys: ReadonlyArray<CreatedKey>
}

export interface ConfigurationAppliedResponse extends ResponseEnvelope {
  /** What an apply has done. */
  readonly data: ConfigurationApplied
}

/** What the service has, as a configuration. */
export interface ConfigurationDocument {
  /**
   * The configuration, as `relayers.schema.json` describes it. Secrets are `{stored: true}`; hidden parts of URLs
   * are `***`. Example:
   * `{"version":1,"name":"payments","notifications":{"ops":{"url":"https://hooks.example.com/***"}}}`
   */
  readonly document: { readonly [key: string]: unknown }
  /**
   * What the document does not say about an object, by the name of the object, such as the address of a relayer.
   * Example: `{"relayers.treasury":"address 0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"}`
   */
  readonly remarks: { readonly [key: string]: string }
}

export interface ConfigurationDocumentResponse extends ResponseEnvelope {
  /** What the service has, as a configuration. */
  readonly data: ConfigurationDocument
}

export interface ConfigurationPageResponse extends ResponseEnvelope {
  /** The items of this page. */
  readonly data: ReadonlyArray<Configuration>
  /** The page that was served and the number of all items. */
  readonly pagination: Pagination
}

/** What has to change so that the service has a document. */
export interface ConfigurationPlan {
  /** Name of the configuration. It owns the objects of the document. Example: `"payments"` */
  readonly name: string
  /**
   * Identifies the document, the options and what the service has. It changes when one of them changes. Example:
   * `"3kT9pD0cQ1u5mB7rW2xYzA4vN6sL8eHjKfGtRiOqPfQ"`
   */
  readonly digest: string
  /** How many objects the plan concerns. */
  readonly counts: PlanCounts
  /** All objects, in the order in which they are changed. */
  readonly steps: ReadonlyArray<PlannedStep>
  /**
   * A keyed hash of each object that the plan is based on, by name, so that an apply can say which of them has
   * changed. Example: `{"relayers.treasury":"fQ3kT9pD0cQ1u5mB"}`
   */
  readonly seen: { readonly [key: string]: string }
}

export interface ConfigurationPlanResponse extends ResponseEnvelope {
  /** What has to change so that the service has a document. */
  readonly data: ConfigurationPlan
}

export interface ConfigurationResponse extends ResponseEnvelope {
  /** A configuration that was applied. */
  readonly data: Configuration
}

export interface CreateApiKeyRequest {
  /**
   * Identifier of the API key. If absent, the service generates a UUID. The id of a revoked key that had limits of
   * fees, or that had created keys or was created by one, cannot be used again. Example: `"payout-service"`
   */
  readonly id?: string
  /** Name of the key, for people. Example: `"Payout service"` */
  readonly name: string
  /** What the key may do. Example: `["relayers:read","relayers:write"]` */
  readonly scopes: ReadonlyArray<Scope>
  /**
   * The only relayers that the key can use. If absent, it can use all relayers, including later ones. A deleted
   * relayer is removed from the list; a key whose list is empty can use none. Example: `["payouts"]`
   */
  readonly relayer_ids?: ReadonlyArray<string>
  /** When the key expires. If absent, it does not expire. Example: `"2030-01-01T00:00:00Z"` */
  readonly expires_at?: DateTime.Utc
  /**
   * What the key may send, per network type: nothing on networks of a type without limits. If absent, everything
   * that the policies of its relayers allow. A key that a limited key creates has at most the same limits.
   * Example:
   * `{"max_value":"1000000000000000000","max_fee_per_day":"50000000000000000","solana":{"max_value":"2000000000","max_fee_per_day":"50000000"}}`
   */
  readonly transaction_limits?: TransactionLimits
}

export interface CreateAwsKmsSignerRequest {
  /** Identifier of the signer. If absent, the service generates a UUID. Example: `"hot-1"` */
  readonly id?: string
  /** Where the key is stored. Example: `"aws_kms"` */
  readonly type: "aws_kms"
  /** Where the key is in AWS KMS. The service logs in as itself. */
  readonly config: {
    /** Region of the key. Example: `"eu-west-1"` */
    readonly region: string
    /** Id, ARN, alias (`alias/…`) or ARN of an alias of the key. Example: `"alias/relayer-hot-1"` */
    readonly key_id: string
  }
}

export interface CreateAzureKeyVaultSignerRequest {
  /** Identifier of the signer. If absent, the service generates a UUID. Example: `"hot-1"` */
  readonly id?: string
  /** Where the key is stored. Example: `"azure_key_vault"` */
  readonly type: "azure_key_vault"
  /** Where the key is in Azure Key Vault or Managed HSM, and how the service logs in. */
  readonly config: {
    /**
     * How the service logs in: with a client secret, with the managed identity of its machine, or with a token file
     * (workload identity). The default is client_secret. Example: `"client_secret"`
     */
    readonly auth_type?: "client_secret" | "managed_identity" | "workload_identity"
    /** Directory (tenant) of the application. Example: `"contoso.onmicrosoft.com"` */
    readonly tenant_id?: string
    /** Client id of the application or of a user-assigned identity. Example: `"3d1e6a0f-6d0f-4c4c-9d1c-6f7d2f6d8a11"` */
    readonly client_id?: string
    /** Client secret of the application, for auth_type client_secret. Example: `"abc8Q~0123456789"` */
    readonly client_secret?: Redacted.Redacted<string>
    /**
     * Token file for auth_type workload_identity, in the directory AZURE_TOKEN_DIRECTORY of the service. If absent,
     * the file AZURE_FEDERATED_TOKEN_FILE of the service. Example:
     * `"/var/run/secrets/azure/tokens/azure-identity-token"`
     */
    readonly federated_token_file?: Redacted.Redacted<string>
    /** URL of the vault or Managed HSM. It determines the login host. Example: `"https://relayers.vault.azure.net"` */
    readonly vault_url: string
    /** Name of the key. Example: `"hot-1"` */
    readonly key_name: string
    /**
     * Version of the key. If absent, the signer keeps the version that is current when it is created. Example:
     * `"9885aa558e8d448789683188f8c194b0"`
     */
    readonly key_version?: string
  }
}

export interface CreateEvmNetworkRequest {
  /** Name of the network, unique for its type. Example: `"sepolia"` */
  readonly name: string
  /** Network of the same type that this one inherits from. Example: `"sepolia"` */
  readonly from?: string
  /**
   * Providers of the chain, for relayers without their own. If absent, it is inherited. Example:
   * `["https://rpc.example.com/v1/my-key"]`
   */
  readonly rpc_urls?: ReadonlyArray<RpcConfigRequest>
  /** Block explorers, for people. If absent, it is inherited. Example: `["https://sepolia.etherscan.io"]` */
  readonly explorer_urls?: ReadonlyArray<string>
  /** Milliseconds between two blocks, on average. If absent, it is inherited. Example: `12000` */
  readonly average_blocktime_ms?: number
  /** Whether the network is a testnet. If absent, it is inherited. Example: `true` */
  readonly is_testnet?: boolean
  /** Labels, for people. Added to the inherited ones. Example: `["staging"]` */
  readonly tags?: ReadonlyArray<string>
  /**
   * How long no second RPC URL has an opinion about a transaction before the one that is left decides alone that
   * it is final: a number of minutes, hours or days, or `never`. The default is `1h`. With two RPC URLs, a
   * duration is safe if one of them lies or one of them is silent, but not both. If absent, it is inherited.
   * Example: `"1h"`
   */
  readonly finality_by_one?: string
  /** The family of chains. Example: `"evm"` */
  readonly network_type: "evm"
  /** Chain id (EIP-155). If absent, it is inherited. Example: `11155111` */
  readonly chain_id?: number
  /**
   * Blocks that must follow the block of a transaction before it is final. If absent, it is inherited. Example:
   * `6`
   */
  readonly required_confirmations?: number
  /**
   * Block tag that makes a transaction final, instead of `required_confirmations`. If absent, it is inherited.
   * Example: `"finalized"`
   */
  readonly finality_tag?: "safe" | "finalized"
  /**
   * Transactions of one account that may be in flight at once. The default is 64, and 4 with `no-mempool`. At most
   * 10,000, and 1,000 on solana. If absent, it is inherited. Example: `64`
   */
  readonly transaction_window?: number
  /**
   * Wei per gas that the nodes of the network demand as a priority fee. If absent, it is inherited. Example:
   * `25000000000`
   */
  readonly minimum_priority_fee?: number
  /**
   * Wei per gas that the service offers at most as a priority fee, unless the request gives it. If absent, ten
   * times the base fee, but at least 100 gwei, is the limit for relayers without a `gas_price_cap`. If absent, it
   * is inherited. Example: `200000000000`
   */
  readonly tip_cap?: number
  /**
   * JSON-RPC methods that `POST /relayers/{relayer_id}/rpc` passes on. If absent, methods that only read. No list
   * lets it pass `sendTransaction` of stellar on. If absent, it is inherited. Example:
   * `["eth_call","eth_getLogs"]`
   */
  readonly rpc_methods?: ReadonlyArray<string>
  /**
   * Capabilities of the chain. `eip1559`: fees are priced by EIP-1559. `no-mempool`: nodes keep no transaction
   * whose predecessor is missing. `eip7825`: a transaction has at most 2^24 gas. `optimism-based`: data has a fee
   * besides gas, which a contract of the chain names. Added to the inherited ones. Example: `["eip1559"]`
   */
  readonly features?: ReadonlyArray<string>
  /** Symbol of the native token. If absent, it is inherited. Example: `"ETH"` */
  readonly symbol?: string
}

export interface CreateEvmRelayerRequest {
  /** Identifier of the relayer. If absent, the service generates a UUID. Example: `"payouts"` */
  readonly id?: string
  /** Name of the relayer, for people. Example: `"Payouts"` */
  readonly name: string
  /** Name of the network, unique for its type. Example: `"sepolia"` */
  readonly network: string
  /** Whether the operator has paused the relayer. Example: `false` */
  readonly paused: boolean
  /** Identifier of the signer. Example: `"hot-1"` */
  readonly signer_id: string
  /** Notification that gets the webhooks of the relayer. Example: `"ops"` */
  readonly notification_id?: string
  /**
   * Providers of the relayer. If absent or empty, it uses those of the network. Example:
   * `[{"url":"https://rpc.example.com/v1/my-key","weight":100}]`
   */
  readonly custom_rpc_urls?: ReadonlyArray<RpcConfigRequest>
  /** The family of chains. Example: `"evm"` */
  readonly network_type: "evm"
  /** Limits of the relayer. */
  readonly policies?: EvmPolicy
}

export interface CreateGoogleCloudKmsSignerRequest {
  /** Identifier of the signer. If absent, the service generates a UUID. Example: `"hot-1"` */
  readonly id?: string
  /** Where the key is stored. Example: `"google_cloud_kms"` */
  readonly type: "google_cloud_kms"
  /** Where the key is in Google Cloud KMS, and the credentials to use it. */
  readonly config: {
    /**
     * The service account, with the fields of its key file. If absent, the service logs in as its environment
     * provides (Application Default Credentials), for which the package google-auth-library must be installed.
     */
    readonly service_account?: {
      /** Project of the service account. Example: `"my-project"` */
      readonly project_id: string
      /** Unique id of the service account. Example: `"103249887654321098765"` */
      readonly client_id: string
      /** The service stores this URL and never calls it. Example: `"https://accounts.google.com/o/oauth2/auth"` */
      readonly auth_uri: string
      /** The service stores this URL and never calls it. Example: `"https://oauth2.googleapis.com/token"` */
      readonly token_uri: string
      /** The service stores this URL and never calls it. Example: `"https://www.googleapis.com/oauth2/v1/certs"` */
      readonly auth_provider_x509_cert_url: string
      /**
       * The service stores this URL and never calls it. Example:
       * `"https://www.googleapis.com/robot/v1/metadata/x509/relayer"`
       */
      readonly client_x509_cert_url: string
      /** The universe of the service account, which has one value. Example: `"googleapis.com"` */
      readonly universe_domain: "googleapis.com"
      /**
       * RSA private key in PEM. Example: `"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq...\n-----END PRIVATE
       * KEY-----\n"`
       */
      readonly private_key: Redacted.Redacted<string>
      /** Id of the private key. Example: `"8f3d2c1b0a998877665544332211ffeeddccbbaa"` */
      readonly private_key_id: Redacted.Redacted<string>
      /** Name of the service account. Example: `"relayer@my-project.iam.gserviceaccount.com"` */
      readonly client_email: Redacted.Redacted<string>
    }
    /** The version of the key. */
    readonly key: {
      /** Location of the key ring. Example: `"europe-west3"` */
      readonly location: string
      /** Name of the key ring. Example: `"relayers"` */
      readonly key_ring_id: string
      /** Name of the key. Example: `"hot-1"` */
      readonly key_id: string
      /** Version of the key. Example: `1` */
      readonly key_version: number
      /**
       * Project of the key. If absent, the project of the service account; without one it is required. An addition to
       * the common wire format. Example: `"my-project"`
       */
      readonly project_id?: string
    }
  }
}

export interface CreateLocalSignerRequest {
  /** Identifier of the signer. If absent, the service generates a UUID. Example: `"hot-1"` */
  readonly id?: string
  /** Where the key is stored. Example: `"local"` */
  readonly type: "local"
  /** The keystore and its passphrase. */
  readonly config: {
    /** A keystore (Web3 Secret Storage version 3): an object, or its text. Example: `{"version":3,"crypto":{}}` */
    readonly keystore: Redacted.Redacted<string>
    /**
     * Passphrase of the keystore. It is used as UTF-8, without normalization. Example: `"correct horse battery
     * staple"`
     */
    readonly passphrase: Redacted.Redacted<string>
  }
}

/** A network to create. A field that is absent here and in the network of `from` must have a default. */
export type CreateNetworkRequest = CreateEvmNetworkRequest | CreateSolanaNetworkRequest | CreateStellarNetworkRequest

export interface CreateNotificationRequest {
  /** Identifier of the notification. If absent, the service generates a UUID. Example: `"ops"` */
  readonly id?: string
  /** Kind of the notification. Example: `"webhook"` */
  readonly type: "webhook"
  /**
   * URL of the receiver: https, or http to a host that OUTBOUND_ALLOW of the service names. Example:
   * `"https://hooks.example.com/relayer"`
   */
  readonly url: string
  /**
   * Key of the webhook signatures (HMAC-SHA256); if absent, webhooks are not signed. Best is `whsec_` and base64:
   * the libraries of Standard Webhooks take this form as it is. A text without `whsec_` signs with its own bytes:
   * these libraries decode it as base64 unless they get `{ format: "raw" }` (npm) or the bytes of the text
   * (Python). Example: `"whsec_9qu8VyNlvmbj8DzpnGzAEplN6kYSdeIa6d4w2+rzuRo="`
   */
  readonly signing_key?: Redacted.Redacted<string>
}

export interface CreatePkcs11SignerRequest {
  /** Identifier of the signer. If absent, the service generates a UUID. Example: `"hot-1"` */
  readonly id?: string
  /** Where the key is stored. Example: `"pkcs11"` */
  readonly type: "pkcs11"
  /** Where the key is in a token of PKCS#11, and the PIN to use it. An addition to the common wire format. */
  readonly config: {
    /** Name of the module, as PKCS11_MODULES of the service defines it. Example: `"hsm"` */
    readonly module: string
    /** Label of the token. Example: `"relayer"` */
    readonly token_label: string
    /** Serial number of the token. It is needed if several tokens have this label. Example: `"bddb53699fe07764"` */
    readonly token_serial?: string
    /**
     * Label (CKA_LABEL) of the private key. `key_label` or `key_id` is required; together they have to name exactly
     * one key. Example: `"hot-1"`
     */
    readonly key_label?: string
    /** Id (CKA_ID) of the key in hex. Example: `"01"` */
    readonly key_id?: string
    /** PIN of the user of the token. Example: `"1234"` */
    readonly pin: Redacted.Redacted<string>
  }
}

export interface CreatePlainSignerRequest {
  /** Identifier of the signer. If absent, the service generates a UUID. Example: `"hot-1"` */
  readonly id?: string
  /** Where the key is stored. Example: `"plain"` */
  readonly type: "plain"
  /** The key. */
  readonly config?: {
    /**
     * 32 bytes as hex. If absent, the service generates a key that nobody can read. Example:
     * `"0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318"`
     */
    readonly key?: Redacted.Redacted<string>
  }
}

/** A relayer to create. */
export type CreateRelayerRequest = CreateEvmRelayerRequest | CreateSolanaRelayerRequest | CreateStellarRelayerRequest

/** A signer to create. */
export type CreateSignerRequest = 
  | CreatePlainSignerRequest
  | CreateLocalSignerRequest
  | CreateVaultSignerRequest
  | CreateVaultTransitSignerRequest
  | CreatePkcs11SignerRequest
  | CreateAwsKmsSignerRequest
  | CreateGoogleCloudKmsSignerRequest
  | CreateAzureKeyVaultSignerRequest
  | CreateTurnkeySignerRequest

export interface CreateSolanaNetworkRequest {
  /** Name of the network, unique for its type. Example: `"sepolia"` */
  readonly name: string
  /** Network of the same type that this one inherits from. Example: `"sepolia"` */
  readonly from?: string
  /**
   * Providers of the chain, for relayers without their own. If absent, it is inherited. Example:
   * `["https://rpc.example.com/v1/my-key"]`
   */
  readonly rpc_urls?: ReadonlyArray<RpcConfigRequest>
  /** Block explorers, for people. If absent, it is inherited. Example: `["https://sepolia.etherscan.io"]` */
  readonly explorer_urls?: ReadonlyArray<string>
  /** Milliseconds between two blocks, on average. If absent, it is inherited. Example: `12000` */
  readonly average_blocktime_ms?: number
  /** Whether the network is a testnet. If absent, it is inherited. Example: `true` */
  readonly is_testnet?: boolean
  /** Labels, for people. Added to the inherited ones. Example: `["staging"]` */
  readonly tags?: ReadonlyArray<string>
  /**
   * How long no second RPC URL has an opinion about a transaction before the one that is left decides alone that
   * it is final: a number of minutes, hours or days, or `never`. The default is `1h`. With two RPC URLs, a
   * duration is safe if one of them lies or one of them is silent, but not both. If absent, it is inherited.
   * Example: `"1h"`
   */
  readonly finality_by_one?: string
  /** The family of chains. Example: `"solana"` */
  readonly network_type: "solana"
  /**
   * Transactions of one account that may be in flight at once. The default is 64, and 4 with `no-mempool`. At most
   * 10,000, and 1,000 on solana. If absent, it is inherited. Example: `64`
   */
  readonly transaction_window?: number
  /**
   * JSON-RPC methods that `POST /relayers/{relayer_id}/rpc` passes on. If absent, methods that only read. No list
   * lets it pass `sendTransaction` of stellar on. If absent, it is inherited. Example:
   * `["eth_call","eth_getLogs"]`
   */
  readonly rpc_methods?: ReadonlyArray<string>
}

export interface CreateSolanaRelayerRequest {
  /** Identifier of the relayer. If absent, the service generates a UUID. Example: `"payouts"` */
  readonly id?: string
  /** Name of the relayer, for people. Example: `"Payouts"` */
  readonly name: string
  /** Name of the network, unique for its type. Example: `"sepolia"` */
  readonly network: string
  /** Whether the operator has paused the relayer. Example: `false` */
  readonly paused: boolean
  /** Identifier of the signer. Example: `"hot-1"` */
  readonly signer_id: string
  /** Notification that gets the webhooks of the relayer. Example: `"ops"` */
  readonly notification_id?: string
  /**
   * Providers of the relayer. If absent or empty, it uses those of the network. Example:
   * `[{"url":"https://rpc.example.com/v1/my-key","weight":100}]`
   */
  readonly custom_rpc_urls?: ReadonlyArray<RpcConfigRequest>
  /** The family of chains. Example: `"solana"` */
  readonly network_type: "solana"
  /** Limits of the relayer. */
  readonly policies?: SolanaPolicy
}

export interface CreateStellarNetworkRequest {
  /** Name of the network, unique for its type. Example: `"sepolia"` */
  readonly name: string
  /** Network of the same type that this one inherits from. Example: `"sepolia"` */
  readonly from?: string
  /**
   * Providers of the chain, for relayers without their own. If absent, it is inherited. Example:
   * `["https://rpc.example.com/v1/my-key"]`
   */
  readonly rpc_urls?: ReadonlyArray<RpcConfigRequest>
  /** Block explorers, for people. If absent, it is inherited. Example: `["https://sepolia.etherscan.io"]` */
  readonly explorer_urls?: ReadonlyArray<string>
  /** Milliseconds between two blocks, on average. If absent, it is inherited. Example: `12000` */
  readonly average_blocktime_ms?: number
  /** Whether the network is a testnet. If absent, it is inherited. Example: `true` */
  readonly is_testnet?: boolean
  /** Labels, for people. Added to the inherited ones. Example: `["staging"]` */
  readonly tags?: ReadonlyArray<string>
  /**
   * How long no second RPC URL has an opinion about a transaction before the one that is left decides alone that
   * it is final: a number of minutes, hours or days, or `never`. The default is `1h`. With two RPC URLs, a
   * duration is safe if one of them lies or one of them is silent, but not both. If absent, it is inherited.
   * Example: `"1h"`
   */
  readonly finality_by_one?: string
  /** The family of chains. Example: `"stellar"` */
  readonly network_type: "stellar"
  /**
   * Network passphrase, which is part of every signature. If absent, it is inherited. Example: `"Test SDF Network
   * ; September 2015"`
   */
  readonly passphrase?: string
  /** URL of the Horizon server. If absent, it is inherited. Example: `"https://horizon-testnet.stellar.org"` */
  readonly horizon_url?: string
  /**
   * Contract whose `forward` passes a call on and takes the fee of the relayer in a token. If absent, users cannot
   * pay for calls of contracts in a token. If absent, it is inherited. Example:
   * `"CA3D5KRYM6CB7OWQ6TWYRR3Z4T7GNZLKERYNZGGA5SOAOPIFY6YQGAXE"`
   */
  readonly fee_forwarder?: string
  /**
   * JSON-RPC methods that `POST /relayers/{relayer_id}/rpc` passes on. If absent, methods that only read. No list
   * lets it pass `sendTransaction` of stellar on. If absent, it is inherited. Example:
   * `["eth_call","eth_getLogs"]`
   */
  readonly rpc_methods?: ReadonlyArray<string>
}

export interface CreateStellarRelayerRequest {
  /** Identifier of the relayer. If absent, the service generates a UUID. Example: `"payouts"` */
  readonly id?: string
  /** Name of the relayer, for people. Example: `"Payouts"` */
  readonly name: string
  /** Name of the network, unique for its type. Example: `"sepolia"` */
  readonly network: string
  /** Whether the operator has paused the relayer. Example: `false` */
  readonly paused: boolean
  /** Identifier of the signer. Example: `"hot-1"` */
  readonly signer_id: string
  /** Notification that gets the webhooks of the relayer. Example: `"ops"` */
  readonly notification_id?: string
  /**
   * Providers of the relayer. If absent or empty, it uses those of the network. Example:
   * `[{"url":"https://rpc.example.com/v1/my-key","weight":100}]`
   */
  readonly custom_rpc_urls?: ReadonlyArray<RpcConfigRequest>
  /** The family of chains. Example: `"stellar"` */
  readonly network_type: "stellar"
  /** Limits of the relayer. */
  readonly policies?: StellarPolicy
}

export interface CreateTurnkeySignerRequest {
  /** Identifier of the signer. If absent, the service generates a UUID. Example: `"hot-1"` */
  readonly id?: string
  /** Where the key is stored. Example: `"turnkey"` */
  readonly type: "turnkey"
  /** Where the key is in Turnkey, and the API key that uses it. */
  readonly config: {
    /**
     * Public key of the API key, in hex. Example:
     * `"02f739f8c77b32f4d5f13265861febd76e7a9c61a1140d296b8c16302508870316"`
     */
    readonly api_public_key: string
    /** The organization. Example: `"2a1f3c7e-1111-4222-8333-444455556666"` */
    readonly organization_id: string
    /** Id of the private key, or the address of a wallet account. Example: `"6b8b4d1e-5555-4666-8777-888899990000"` */
    readonly private_key_id: string
    /**
     * Public key in hex: 65 or 33 bytes on secp256k1, 32 bytes on ed25519. A probe checks it. Example:
     * `"04c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee51ae168fea63dc339a3c58419466ceaeef7f632653266d0e1236431a950cfe52a"`
     */
    readonly public_key: string
    /**
     * Private key of the API key, in hex. Example:
     * `"487f361ddfd73440e707f4daa6775b376859e8a3c9f29b3bb694a12927c0213c"`
     */
    readonly api_private_key: Redacted.Redacted<string>
  }
}

export interface CreateVaultSignerRequest {
  /** Identifier of the signer. If absent, the service generates a UUID. Example: `"hot-1"` */
  readonly id?: string
  /** Where the key is stored. Example: `"vault"` */
  readonly type: "vault"
  /** Where the key is in Vault, and the credentials to read it. */
  readonly config: {
    /** URL of Vault. It may have a path if Vault is behind a proxy. Example: `"https://vault.example.com"` */
    readonly address: string
    /** Namespace in Vault Enterprise. Example: `"team-a"` */
    readonly namespace?: string
    /** Role id of an AppRole. Example: `"59d6d1ca-47bb-4e7e-a40b-8be3bc5a0ba8"` */
    readonly role_id: Redacted.Redacted<string>
    /** Secret id of the AppRole. Example: `"84896a0c-1347-aa90-a4f6-aca8b7558780"` */
    readonly secret_id: Redacted.Redacted<string>
    /** Path of the secret in the key-value store. Example: `"relayer/hot-1"` */
    readonly key_name: string
    /** Mount point of the engine. The default is secret. Example: `"secret"` */
    readonly mount_point: string
  }
}

export interface CreateVaultTransitSignerRequest {
  /** Identifier of the signer. If absent, the service generates a UUID. Example: `"hot-1"` */
  readonly id?: string
  /** Where the key is stored. Example: `"vault_transit"` */
  readonly type: "vault_transit"
  /** Where the key is in Vault, and the credentials to use it. */
  readonly config: {
    /** URL of Vault. It may have a path if Vault is behind a proxy. Example: `"https://vault.example.com"` */
    readonly address: string
    /** Namespace in Vault Enterprise. Example: `"team-a"` */
    readonly namespace?: string
    /** Role id of an AppRole. Example: `"59d6d1ca-47bb-4e7e-a40b-8be3bc5a0ba8"` */
    readonly role_id: Redacted.Redacted<string>
    /** Secret id of the AppRole. Example: `"84896a0c-1347-aa90-a4f6-aca8b7558780"` */
    readonly secret_id: Redacted.Redacted<string>
    /** Name of the key in the transit engine. Example: `"hot-1"` */
    readonly key_name: string
    /** Mount point of the engine. The default is transit. Example: `"transit"` */
    readonly mount_point: string
    /** The ed25519 public key: 32 bytes as base64. Example: `"11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="` */
    readonly pubkey: string
  }
}

/** A new API key with the key itself. */
export interface CreatedKey {
  /** The id of the API key. Example: `"dashboard"` */
  readonly id: string
  /** The key itself. It is not returned again. Example: `"rk_7Jx0mZ2kQv"` */
  readonly key: Redacted.Redacted<string>
}

/** The API key of the request. */
export interface CurrentKey {
  /** Identifier of the API key; `administrator` for the administrator's key. Example: `"payout-service"` */
  readonly id: string
  /** Name of the key, for people. Example: `"Payout service"` */
  readonly name?: string
  /** What the key may do. Example: `["relayers:read","relayers:write"]` */
  readonly scopes: ReadonlyArray<Scope>
  /**
   * The only relayers that the key can use. If absent, it can use all relayers, including later ones. A deleted
   * relayer is removed from the list; a key whose list is empty can use none. Example: `["payouts"]`
   */
  readonly relayer_ids?: ReadonlyArray<string & Brand.Brand<"RelayerId">>
  /**
   * What the key may send, per network type: nothing on networks of a type without limits. If absent, everything
   * that the policies of its relayers allow. A key that a limited key creates has at most the same limits.
   * Example:
   * `{"max_value":"1000000000000000000","max_fee_per_day":"50000000000000000","solana":{"max_value":"2000000000","max_fee_per_day":"50000000"}}`
   */
  readonly transaction_limits?: TransactionLimits
  /** When the key was created. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly created_at?: DateTime.Utc
  /** When the key expires. If absent, it does not expire. Example: `"2030-01-01T00:00:00.000Z"` */
  readonly expires_at?: DateTime.Utc
}

export interface CurrentKeyResponse extends ResponseEnvelope {
  /** The API key of the request. */
  readonly data: CurrentKey
}

/** Curve of a signature: secp256k1 for evm, ed25519 for solana and stellar. */
export type Curve = "secp256k1" | "ed25519"

/** A webhook message for one notification. */
export interface Delivery {
  /**
   * Identifier of the delivery: the header `webhook-id`, and `id` in the body. Example:
   * `"0191e9a0-7b1c-7000-8000-5e0c3f9b2d11"`
   */
  readonly id: string & Brand.Brand<"DeliveryId">
  /** Type of the event, or `test`. Example: `"relayer.paused"` */
  readonly type: EventType | "test"
  /** `id` of the event. Absent for a test. Example: `7` */
  readonly event_id?: number
  /** Relayer that the event is about. Absent for a test. Example: `"payouts"` */
  readonly relayer_id?: string
  /** `failed`: the service makes no further attempts. Example: `"delivered"` */
  readonly state: DeliveryState
  /** When the delivery was created. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly created_at: DateTime.Utc
  /**
   * Earliest time of the next attempt. Absent unless the delivery is pending. Example:
   * `"2026-01-02T03:05:05.678Z"`
   */
  readonly next_attempt_at?: DateTime.Utc
  /** When the receiver accepted the delivery. Example: `"2026-01-02T03:04:06.012Z"` */
  readonly delivered_at?: DateTime.Utc
  /**
   * The body that was signed and sent, byte for byte. Absent in a list with `body=false`. Example:
   * `"{\"id\":\"0191e9a0-7b1c-7000-8000-5e0c3f9b2d11\",\"event\":\"relayer_state_update\"}"`
   */
  readonly body?: string
  /** The last 50 attempts, newest first. */
  readonly attempts: ReadonlyArray<DeliveryAttempt>
}

/** One attempt to send a delivery. */
export interface DeliveryAttempt {
  /** When the attempt was made. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly at: DateTime.Utc
  /** Milliseconds until the answer, or until the attempt failed. Example: `120` */
  readonly ms: number
  /**
   * `delivered`: the receiver answered 2xx. `gone`: it answered 410. `rejected`: it answered another status.
   * `refused`: the service may not call the URL. `timeout`: no answer in time. `unreachable`: no connection.
   * `error`: a fault of the service. Example: `"delivered"`
   */
  readonly outcome: DeliveryOutcome
  /** HTTP status of the answer. Absent if there was none. Example: `204` */
  readonly status?: number
  /** The first kilobyte of the answer's body, or why there was no answer. Example: `"ok"` */
  readonly answer?: string
}

export interface DeliveryListResponse extends ResponseEnvelope {
  /** The items of this page. */
  readonly data: ReadonlyArray<Delivery>
}

/**
 * `delivered`: the receiver answered 2xx. `gone`: it answered 410. `rejected`: it answered another status.
 * `refused`: the service may not call the URL. `timeout`: no answer in time. `unreachable`: no connection.
 * `error`: a fault of the service.
 */
export type DeliveryOutcome = "delivered" | "rejected" | "gone" | "refused" | "timeout" | "unreachable" | "error"

export interface DeliveryResponse extends ResponseEnvelope {
  /** A webhook message for one notification. */
  readonly data: Delivery
}

/** `failed`: the service makes no further attempts. */
export type DeliveryState = "pending" | "delivered" | "failed"

/** How a receiver of webhooks did, and what waits. */
export interface DeliveryStatistics {
  /** All steps, the oldest first. Example: `[]` */
  readonly steps: ReadonlyArray<DeliveryStep>
  /**
   * Whether all deliveries of the period are counted. False if there are more than 10000: the newest are counted.
   * Example: `true`
   */
  readonly complete: boolean
  /** Deliveries that wait now, counted to 10000. Example: `3` */
  readonly pending: number
  /** When the oldest of them was created. Example: `"2026-01-02T03:04:00.000Z"` */
  readonly oldest_pending_at?: DateTime.Utc
  /** When the first of them is given up. Example: `"2026-01-02T03:04:00.000Z"` */
  readonly gives_up_at?: DateTime.Utc
  /**
   * Since when the receiver accepts nothing. Absent if its last attempt was accepted, and for a key that is
   * limited to relayers. Example: `"2026-01-02T03:04:00.000Z"`
   */
  readonly failing_since?: DateTime.Utc
}

export interface DeliveryStatisticsResponse extends ResponseEnvelope {
  /** How a receiver of webhooks did, and what waits. */
  readonly data: DeliveryStatistics
}

/** Deliveries of a step of time. */
export interface DeliveryStep {
  /** Beginning of the step. Example: `"2026-01-02T03:04:00.000Z"` */
  readonly at: DateTime.Utc
  /** Deliveries created in the step that the receiver has accepted. Example: `41` */
  readonly delivered: number
  /** Deliveries created in the step that were given up. Example: `0` */
  readonly failed: number
  /** Deliveries created in the step that still wait. Example: `1` */
  readonly pending: number
  /**
   * Milliseconds from creation to acceptance, in which 95 % of those that were delivered were accepted. Absent if
   * none was. Example: `240`
   */
  readonly p95_ms?: number
}

/** Why the service has disabled the relayer. */
export interface DisabledReason {
  /** The failed check, or `Multiple`. Example: `"BalanceCheckFailed"` */
  readonly type: 
    | "NonceSyncFailed"
    | "RpcValidationFailed"
    | "BalanceCheckFailed"
    | "SequenceSyncFailed"
    | "ChainIdMismatch"
    | "Multiple"
  /** The failed checks, for people. Example: `"the balance is below min_balance"` */
  readonly details: string
}

/** The address of the key on each network type of its curve. */
export interface Ed25519SignerAddresses {
  /** Base58. Example: `"7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV"` */
  readonly solana: string
  /** StrKey. Example: `"GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"` */
  readonly stellar: string
}

/** A fact about a resource. */
export interface Event {
  /** Position in the order of all events, for `after` and `Last-Event-ID`. Example: `7` */
  readonly id: number
  /**
   * What happened to which kind of resource. Webhooks use the same names. Later versions of the service may add
   * types. Example: `"relayer.paused"`
   */
  readonly type: EventType
  /** Identifier of the resource that the event is about. Example: `"payouts"` */
  readonly resource_id: string
  /** When it happened. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly at: DateTime.Utc
  /**
   * The `x-request-id` of the request that caused it. Absent if the service acted by itself. Example:
   * `"4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"`
   */
  readonly request_id?: string
  /** The resource after the event; of a deleted resource, before it. Example: `{"id":"payouts","paused":true}` */
  readonly data: unknown
}

export interface EventListResponse extends ResponseEnvelope {
  /** The items of this page. */
  readonly data: ReadonlyArray<Event>
}

/**
 * What happened to which kind of resource. Webhooks use the same names. Later versions of the service may add
 * types.
 */
export type EventType = KnownEventType | (string & Record<never, never>)

export interface EvmNetwork {
  /** Identifier of the network: its type and its name. Example: `"evm:sepolia"` */
  readonly id: string & Brand.Brand<"NetworkId">
  /** Name of the network, unique for its type. Example: `"sepolia"` */
  readonly name: string & Brand.Brand<"NetworkName">
  /** Network of the same type that this one inherits from. Example: `"sepolia"` */
  readonly from?: string & Brand.Brand<"NetworkName">
  /**
   * `builtin`: part of the service. `overridden`: built-in, with changed fields. `own`: created by a request.
   * Example: `"builtin"`
   */
  readonly source: "builtin" | "overridden" | "own"
  /** Providers of the chain, with masked URLs. */
  readonly rpc_urls: ReadonlyArray<RpcConfig>
  /** Block explorers, for people. Example: `["https://sepolia.etherscan.io"]` */
  readonly explorer_urls?: ReadonlyArray<string>
  /** Milliseconds between two blocks, on average. Example: `12000` */
  readonly average_blocktime_ms: number
  /** Whether the network is a testnet. Example: `true` */
  readonly is_testnet: boolean
  /** Labels, for people. Example: `["staging"]` */
  readonly tags?: ReadonlyArray<string>
  /**
   * How long no second RPC URL has an opinion about a transaction before the one that is left decides alone that
   * it is final: a number of minutes, hours or days, or `never`. The default is `1h`. With two RPC URLs, a
   * duration is safe if one of them lies or one of them is silent, but not both. Example: `"1h"`
   */
  readonly finality_by_one?: string
  /**
   * The configuration that owns the resource: its next apply reverts other changes. Absent while no configuration
   * owns it. Example: `"payments"`
   */
  readonly managed_by?: string
  /** The family of chains. Example: `"evm"` */
  readonly network_type: "evm"
  /** Chain id (EIP-155). Example: `11155111` */
  readonly chain_id: number
  /** Blocks that must follow the block of a transaction before it is final. Example: `6` */
  readonly required_confirmations: number
  /** Block tag that makes a transaction final, instead of `required_confirmations`. Example: `"finalized"` */
  readonly finality_tag?: "safe" | "finalized"
  /**
   * Transactions of one account that may be in flight at once. The default is 64, and 4 with `no-mempool`. At most
   * 10,000, and 1,000 on solana. Example: `64`
   */
  readonly transaction_window?: number
  /** Wei per gas that the nodes of the network demand as a priority fee. Example: `25000000000` */
  readonly minimum_priority_fee?: number
  /**
   * Wei per gas that the service offers at most as a priority fee, unless the request gives it. If absent, ten
   * times the base fee, but at least 100 gwei, is the limit for relayers without a `gas_price_cap`. Example:
   * `200000000000`
   */
  readonly tip_cap?: number
  /**
   * JSON-RPC methods that `POST /relayers/{relayer_id}/rpc` passes on. If absent, methods that only read. No list
   * lets it pass `sendTransaction` of stellar on. Example: `["eth_call","eth_getLogs"]`
   */
  readonly rpc_methods?: ReadonlyArray<string>
  /**
   * Capabilities of the chain. `eip1559`: fees are priced by EIP-1559. `no-mempool`: nodes keep no transaction
   * whose predecessor is missing. `eip7825`: a transaction has at most 2^24 gas. `optimism-based`: data has a fee
   * besides gas, which a contract of the chain names. Example: `["eip1559"]`
   */
  readonly features?: ReadonlyArray<string>
  /** Symbol of the native token. Example: `"ETH"` */
  readonly symbol: string
}

/** Limits of an evm relayer. */
export interface EvmPolicy {
  /** Whether fees are priced by EIP-1559. If absent, they are if the network has that feature. Example: `true` */
  readonly eip1559_pricing?: boolean
  /**
   * Whether gas limits are estimated. If false, every transaction must have its gas limit. The default is true.
   * Example: `true`
   */
  readonly gas_limit_estimation?: boolean
  /** Highest price in wei per gas. If absent, there is no cap. Example: `90000000000` */
  readonly gas_price_cap?: bigint
  /** Whether the revert data of failed transactions is read. The default is false. Example: `false` */
  readonly include_revert_data?: boolean
  /** Wei that must stay on the account. The default is 1. Example: `"100000000000000000"` */
  readonly min_balance?: bigint
  /**
   * Whether transactions bypass the public mempool. Not supported yet: while it is true, sends are answered with
   * 409. Example: `false`
   */
  readonly private_transactions?: boolean
  /**
   * Addresses that transactions may be sent to, and `contract_creation` for creations. If absent, everything is
   * allowed; if empty, only the relayer's own address. It may always receive plain transfers; data for it is
   * refused, because code of the account could call anybody. Example:
   * `["0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"]`
   */
  readonly whitelist_receivers?: ReadonlyArray<string | "contract_creation">
}

export interface EvmRelayer {
  /** Identifier of the relayer. Example: `"payouts"` */
  readonly id: string & Brand.Brand<"RelayerId">
  /** Name of the relayer, for people. Example: `"Payouts"` */
  readonly name: string
  /** Name of the network, unique for its type. Example: `"sepolia"` */
  readonly network: string & Brand.Brand<"NetworkName">
  /** Address of the signer, in lower case. Example: `"0x2c7536e3605d9c16a7a3d7b1898e529396a65c23"` */
  readonly address: string
  /** Whether the operator has paused the relayer. Example: `false` */
  readonly paused: boolean
  /** Whether the service has disabled the relayer. Example: `false` */
  readonly system_disabled: boolean
  /** Why the service has disabled the relayer. */
  readonly disabled_reason?: DisabledReason
  /** Identifier of the signer. Example: `"hot-1"` */
  readonly signer_id: string & Brand.Brand<"SignerId">
  /** Identifier of the notification. Example: `"ops"` */
  readonly notification_id?: string & Brand.Brand<"NotificationId">
  /** Providers of the relayer. If absent, it uses those of the network. */
  readonly custom_rpc_urls?: ReadonlyArray<RpcConfig>
  /** The family of chains. Example: `"evm"` */
  readonly network_type: "evm"
  /** Limits of an evm relayer. */
  readonly policies?: EvmPolicy
  /**
   * The configuration that owns the resource: its next apply reverts other changes. Absent while no configuration
   * owns it. Example: `"payments"`
   */
  readonly managed_by?: string
  /** Its last check and its open transactions. Only in lists, with `include=health`. */
  readonly health?: RelayerHealthSummary
}

export interface EvmRelayerStatus {
  /** The family of chains. Example: `"evm"` */
  readonly network_type: "evm"
  /** Balance in the chain's smallest unit. Absent if it was never read. Example: `"1000000000000000000"` */
  readonly balance?: bigint
  /**
   * True if balance, nonce and providers were read for this response. False if they are from `read_at` and from
   * the last check. Example: `true`
   */
  readonly live: boolean
  /** When the amounts were read. Absent if they never were. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly read_at?: DateTime.Utc
  /** Whether the operator has paused the relayer. Example: `false` */
  readonly paused: boolean
  /** Whether the service has disabled the relayer. Example: `false` */
  readonly system_disabled: boolean
  /** Why the service has disabled the relayer. */
  readonly disabled_reason?: DisabledReason
  /**
   * `unknown`: not checked yet. `degraded`: it works, but not with all providers. `failing`: checks have failed,
   * but too few to disable it. Example: `"healthy"`
   */
  readonly health: HealthStatus
  /** When the relayer was last checked. Absent before the first check. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly last_check_at?: DateTime.Utc
  /** When the relayer is checked next. Example: `"2026-01-02T03:05:05.678Z"` */
  readonly next_check_at: DateTime.Utc
  /** Transactions of the relayer that are not final. Example: `2` */
  readonly pending_transactions_count: number
  /** When its last transaction was confirmed. Absent if none was. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly last_confirmed_transaction_timestamp?: DateTime.Utc
  /** The providers, in the order of the RPC URLs. */
  readonly providers: ReadonlyArray<ProviderReading>
  /** Nonce of the account's next transaction. Example: `"17"` */
  readonly nonce?: bigint
}

/** What a caller asked for, in one of its versions. */
export interface EvmRequestVersion {
  /** Number of the version, from 1. Example: `1` */
  readonly version: number
  /** Wei that it sends. Example: `"0x38d7ea4c68000"` */
  readonly value: bigint
  /** Gas price of a legacy transaction, in wei. Example: `"30000000000"` */
  readonly gas_price?: bigint
  /** Highest total fee in wei per gas. Example: `"40000000000"` */
  readonly max_fee_per_gas?: bigint
  /** Highest priority fee in wei per gas. Example: `"1000000000"` */
  readonly max_priority_fee_per_gas?: bigint
  /** Receiver. Absent for a creation. Example: `"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"` */
  readonly to?: string
  /** Call data or init code. Example: `"0xa9059cbb"` */
  readonly data?: string
  /** Gas limit. Absent if the service estimates it. Example: `21000` */
  readonly gas_limit?: number
  /** Speed that decides its price, if no fees were given. Example: `"fast"` */
  readonly speed?: Speed
}

/** An ECDSA signature on secp256k1. */
export interface EvmSignature {
  /** 64 hex digits. Example: `"1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a"` */
  readonly r: string
  /** 64 hex digits. Example: `"2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b"` */
  readonly s: string
  /** 27 or 28; the parity, 0 or 1, for a transaction that is not a legacy one. Example: `27` */
  readonly v: number
  /**
   * `r`, `s` and `v` as 130 hex digits. Example:
   * `"1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b1b"`
   */
  readonly sig: string
}

export interface EvmSignatureResponse extends ResponseEnvelope {
  /** An ECDSA signature on secp256k1. */
  readonly data: EvmSignature
}

/** A signed version of the transaction. */
export interface EvmTransactionAttempt {
  /** Hash of the attempt. Example: `"0x5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c"` */
  readonly hash: string
  /** Why it was signed. Example: `"bump"` */
  readonly kind: "original" | "bump" | "replace" | "noop"
  /** Gas price of a legacy transaction, in wei. Example: `"30000000000"` */
  readonly gas_price?: bigint
  /** Highest total fee in wei per gas. Example: `"40000000000"` */
  readonly max_fee_per_gas?: bigint
  /** Highest priority fee in wei per gas. Example: `"1000000000"` */
  readonly max_priority_fee_per_gas?: bigint
  /** Number of the attempt, from 1, in the order of signatures. Example: `1` */
  readonly ordinal?: number
  /** Version of the request that it carries, from 1. A replacement adds a version. Example: `1` */
  readonly request_version?: number
  /** When it was signed. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly signed_at?: DateTime.Utc
  /** When it was first sent. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly sent_at?: DateTime.Utc
  /** How often it was sent to nodes. Example: `2` */
  readonly sends?: number
  /** When it was last sent. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly last_sent_at?: DateTime.Utc
  /** The newest answer of nodes. `unknown`: none has answered, so it may have left or not. Example: `"accepted"` */
  readonly outcome?: "unknown" | "accepted" | "refused"
  /** Why nodes refused it. Absent if none did. Example: `{"class":"price","needed":"1000000000"}` */
  readonly refusal?: TransactionRefusal
  /** Nonce of its bytes. Example: `7` */
  readonly nonce?: number
  /** Gas limit of its bytes. Example: `21000` */
  readonly gas_limit?: number
  /** Height of the chain when it was first sent. Example: `18999998` */
  readonly first_sent_block?: number
  /** Height of the block with it. Absent if no block has it. Example: `19000000` */
  readonly block_number?: number
}

/** A transaction of an evm relayer after an event. */
export interface EvmTransactionPayload {
  /** Always `transaction`. Example: `"transaction"` */
  readonly payload_type: "transaction"
  /** Identifier of the transaction. Example: `"4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"` */
  readonly id: string & Brand.Brand<"TransactionId">
  /** Relayer that sends it. Example: `"payouts"` */
  readonly relayer_id: string & Brand.Brand<"RelayerId">
  /** State of the transaction. Example: `"submitted"` */
  readonly status: TransactionStatus
  /** What it waits for, or why it ended, as a sentence. Example: `"It was canceled."` */
  readonly status_reason?: string
  /** The same as a code. Example: `"in_pool"` */
  readonly code?: TransactionCode
  /** When it was accepted. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly created_at: DateTime.Utc
  /** When it was first sent. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly sent_at?: DateTime.Utc
  /** When it was confirmed. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly confirmed_at?: DateTime.Utc
  /**
   * 1 if one RPC provider has decided alone that it is final, after no other one had an opinion for the time of
   * `finality_by_one`. Otherwise absent. Example: `1`
   */
  readonly confirmed_by?: number
  /** Whether a cancel was requested. The transaction may still be executed. Example: `false` */
  readonly is_canceled: boolean
  /** The caller's identifier. Example: `"order-1234"` */
  readonly external_id?: string
  /** Deadline. Example: `"2026-11-22T20:00:00.000Z"` */
  readonly valid_until?: DateTime.Utc
  /**
   * Network type of the relayer. Absent in events that earlier versions of the service have stored. Example:
   * `"evm"`
   */
  readonly network_type?: "evm"
  /**
   * Hash of the attempt that was mined, else of the newest. Changes with each attempt. Example:
   * `"0x5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c"`
   */
  readonly hash?: string
  /** Gas price of a legacy transaction, in wei. Example: `"30000000000"` */
  readonly gas_price?: bigint
  /** Highest total fee in wei per gas. Example: `"40000000000"` */
  readonly max_fee_per_gas?: bigint
  /** Highest priority fee in wei per gas. Example: `"1000000000"` */
  readonly max_priority_fee_per_gas?: bigint
  /** Gas limit. Example: `21000` */
  readonly gas_limit?: number
  /** Nonce of the account. Example: `7` */
  readonly nonce?: number
  /** Wei that it sends. Example: `"0x38d7ea4c68000"` */
  readonly value: bigint
  /** Address of the relayer. Example: `"0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"` */
  readonly from: string
  /** Receiver. Absent for a creation. Example: `"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"` */
  readonly to?: string
  /** Call data or init code. Example: `"0xa9059cbb"` */
  readonly data?: string
  /**
   * Signature of the attempt that `hash` names. Example:
   * `{"r":"1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a","s":"2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","v":0,"sig":"1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b00"}`
   */
  readonly signature?: EvmSignature
  /** Speed that decides its price, if no fees were given. Example: `"fast"` */
  readonly speed?: Speed
  /** All signed versions, oldest first. Example: `[]` */
  readonly attempts?: ReadonlyArray<EvmTransactionAttempt>
  /**
   * All versions of the request, oldest first. Only in the response of one transaction, if its request was
   * replaced. Example: `[]`
   */
  readonly request_versions?: ReadonlyArray<EvmRequestVersion>
  /** Height of the block with it. Example: `19000000` */
  readonly block_number?: number
  /** Hash of the block with it. Example: `"0x5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c"` */
  readonly block_hash?: string
  /** Contract that it created. Example: `"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"` */
  readonly contract_address?: string
  /** Gas that it used. Example: `"21000"` */
  readonly gas_used?: bigint
  /** Wei per gas that it paid. Example: `"25000000000"` */
  readonly effective_gas_price?: bigint
  /** Wei that it paid for gas. Example: `"525000000000000"` */
  readonly fee_paid?: bigint
  /** Decoded reason of the revert. Example: `"transfer amount exceeds balance"` */
  readonly revert_reason?: string
}

/** An evm transaction. */
export interface EvmTransactionResponse {
  /** Identifier of the transaction. Example: `"4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"` */
  readonly id: string & Brand.Brand<"TransactionId">
  /** Relayer that sends it. Example: `"payouts"` */
  readonly relayer_id: string & Brand.Brand<"RelayerId">
  /** State of the transaction. Example: `"submitted"` */
  readonly status: TransactionStatus
  /** What it waits for, or why it ended, as a sentence. Example: `"It was canceled."` */
  readonly status_reason?: string
  /** The same as a code. Example: `"in_pool"` */
  readonly code?: TransactionCode
  /** When it was accepted. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly created_at: DateTime.Utc
  /** When it was first sent. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly sent_at?: DateTime.Utc
  /** When it was confirmed. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly confirmed_at?: DateTime.Utc
  /**
   * 1 if one RPC provider has decided alone that it is final, after no other one had an opinion for the time of
   * `finality_by_one`. Otherwise absent. Example: `1`
   */
  readonly confirmed_by?: number
  /** Whether a cancel was requested. The transaction may still be executed. Example: `false` */
  readonly is_canceled: boolean
  /** The caller's identifier. Example: `"order-1234"` */
  readonly external_id?: string
  /** Deadline. Example: `"2026-11-22T20:00:00.000Z"` */
  readonly valid_until?: DateTime.Utc
  /** Network type of the relayer. An addition to the common wire format. Example: `"evm"` */
  readonly network_type: "evm"
  /**
   * Hash of the attempt that was mined, else of the newest. Changes with each attempt. Example:
   * `"0x5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c"`
   */
  readonly hash?: string
  /** Gas price of a legacy transaction, in wei. Example: `"30000000000"` */
  readonly gas_price?: bigint
  /** Highest total fee in wei per gas. Example: `"40000000000"` */
  readonly max_fee_per_gas?: bigint
  /** Highest priority fee in wei per gas. Example: `"1000000000"` */
  readonly max_priority_fee_per_gas?: bigint
  /** Gas limit. Example: `21000` */
  readonly gas_limit?: number
  /** Nonce of the account. Example: `7` */
  readonly nonce?: number
  /** Wei that it sends. Example: `"0x38d7ea4c68000"` */
  readonly value: bigint
  /** Address of the relayer. Example: `"0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"` */
  readonly from: string
  /** Receiver. Absent for a creation. Example: `"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"` */
  readonly to?: string
  /** Call data or init code. Example: `"0xa9059cbb"` */
  readonly data?: string
  /**
   * Signature of the attempt that `hash` names. Example:
   * `{"r":"1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a","s":"2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","v":0,"sig":"1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b00"}`
   */
  readonly signature?: EvmSignature
  /** Speed that decides its price, if no fees were given. Example: `"fast"` */
  readonly speed?: Speed
  /** All signed versions, oldest first. Example: `[]` */
  readonly attempts?: ReadonlyArray<EvmTransactionAttempt>
  /**
   * All versions of the request, oldest first. Only in the response of one transaction, if its request was
   * replaced. Example: `[]`
   */
  readonly request_versions?: ReadonlyArray<EvmRequestVersion>
  /** Height of the block with it. Example: `19000000` */
  readonly block_number?: number
  /** Hash of the block with it. Example: `"0x5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c"` */
  readonly block_hash?: string
  /** Contract that it created. Example: `"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"` */
  readonly contract_address?: string
  /** Gas that it used. Example: `"21000"` */
  readonly gas_used?: bigint
  /** Wei per gas that it paid. Example: `"25000000000"` */
  readonly effective_gas_price?: bigint
  /** Wei that it paid for gas. Example: `"525000000000000"` */
  readonly fee_paid?: bigint
  /** Decoded reason of the revert. Example: `"transfer amount exceeds balance"` */
  readonly revert_reason?: string
}

/** Transactions that became final, by their state. */
export interface FinalCounts {
  /** Confirmed transactions. Example: `57` */
  readonly confirmed: number
  /** Failed ones. Example: `1` */
  readonly failed: number
  /** Canceled ones. Example: `0` */
  readonly canceled: number
  /** Expired ones. Example: `0` */
  readonly expired: number
}

/** Prices that the policy has. */
export interface FixedPriceSource {
  /** The prices are those of the tokens in `allowed_tokens`. Example: `"fixed"` */
  readonly type: "fixed"
}

/** A resource that a search has found. */
export interface FoundItem {
  /** Kind of the resource. Example: `"transaction"` */
  readonly kind: "transaction" | "relayer" | "signer" | "notification" | "network" | "key"
  /** Identifier of the resource. Example: `"4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"` */
  readonly id: string
  /** Relayer of the transaction. Example: `"payouts"` */
  readonly relayer_id?: string
  /** For people: the `external_id` of a transaction, a name, or the id. Example: `"order-1234"` */
  readonly label: string
  /** State of the transaction. Example: `"confirmed"` */
  readonly state?: string
}

export interface FoundItemListResponse extends ResponseEnvelope {
  /** The items of this page. */
  readonly data: ReadonlyArray<FoundItem>
}

/** What to send where, while the balance is below `min_balance` or a transaction waits for funds. */
export interface Funding {
  /** Where to send it. Example: `"0x2c7536e3605d9c16a7a3d7b1898e529396a65c23"` */
  readonly address: string
  /** Network of the address. Example: `"evm:sepolia"` */
  readonly network: string
  /** The chain's smallest unit. Example: `"wei"` */
  readonly unit: "wei" | "lamport" | "stroop"
  /** Balance at the last check. Example: `"40000000000000000"` */
  readonly balance: bigint
  /** What the relayer needs. Example: `"100000000000000000"` */
  readonly min_balance: bigint
  /**
   * What to send at least, so that `min_balance` is there and each transaction that waits for funds can be paid.
   * Example: `"60000000000000000"`
   */
  readonly missing: bigint
}

/** An envelope that a caller got signed. */
export interface GivenStellarEnvelope {
  /** Hash of the envelope. Example: `"abababababababababababababababababababababababababababababababab"` */
  readonly hash: string
  /** Sequence that it uses. Example: `"257698037760000001"` */
  readonly sequence: bigint
  /** Moment after which no ledger contains it. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly valid_until: DateTime.Utc
}

export interface GoogleCloudKmsSigner {
  /** Identifier of the signer. Example: `"hot-1"` */
  readonly id: string & Brand.Brand<"SignerId">
  /** Where the key is stored. Example: `"google_cloud_kms"` */
  readonly type: "google_cloud_kms"
  /** The configuration without its secrets. */
  readonly config: {
    /** The service account without its secrets. Absent if the service uses the login of its environment. */
    readonly service_account?: {
      /** Project of the service account. Example: `"my-project"` */
      readonly project_id: string
      /** Unique id of the service account. Example: `"103249887654321098765"` */
      readonly client_id: string
      /** The service stores this URL and never calls it. Example: `"https://accounts.google.com/o/oauth2/auth"` */
      readonly auth_uri: string
      /** The service stores this URL and never calls it. Example: `"https://oauth2.googleapis.com/token"` */
      readonly token_uri: string
      /** The service stores this URL and never calls it. Example: `"https://www.googleapis.com/oauth2/v1/certs"` */
      readonly auth_provider_x509_cert_url: string
      /**
       * The service stores this URL and never calls it. Example:
       * `"https://www.googleapis.com/robot/v1/metadata/x509/relayer"`
       */
      readonly client_x509_cert_url: string
      /** The universe of the service account, which has one value. Example: `"googleapis.com"` */
      readonly universe_domain: "googleapis.com"
    }
    /** The version of the key. */
    readonly key: {
      /** Location of the key ring. Example: `"europe-west3"` */
      readonly location: string
      /** Name of the key ring. Example: `"relayers"` */
      readonly key_ring_id: string
      /** Name of the key. Example: `"hot-1"` */
      readonly key_id: string
      /** Version of the key. Example: `1` */
      readonly key_version: number
      /**
       * Project of the key. If absent, the project of the service account; without one it is required. An addition to
       * the common wire format. Example: `"my-project"`
       */
      readonly project_id?: string
    }
    /**
     * The full name of the version that signs. An addition to the common wire format. Example:
     * `"projects/my-project/locations/europe-west3/keyRings/relayers/cryptoKeys/hot-1/cryptoKeyVersions/1"`
     */
    readonly key_version_name: string
    /** Algorithm of the key. An addition to the common wire format. Example: `"EC_SIGN_SECP256K1_SHA256"` */
    readonly algorithm: string
    /** Where Google keeps the key. An addition to the common wire format. Example: `"HSM"` */
    readonly protection_level: string
  }
  /** Curve of a signature: secp256k1 for evm, ed25519 for solana and stellar. Example: `"secp256k1"` */
  readonly curve: Curve
  /**
   * The public key in hex: the uncompressed point of 65 bytes for secp256k1, 32 bytes for ed25519. An addition to
   * the common wire format. Example: `"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"`
   */
  readonly public_key: string
  /** The addresses of the key on the network types of its curve. */
  readonly addresses: SignerAddressesOfCurve
  /** Why the service no longer signs with the key. A successful verification enables the signer again. */
  readonly disabled_reason?: SignerDisabledReason
  /**
   * The configuration that owns the resource: its next apply reverts other changes. Absent while no configuration
   * owns it. Example: `"payments"`
   */
  readonly managed_by?: string
}

/**
 * Cause of the state, for programs. If the relayer is failing or disabled, it is the type of the reason.
 * `waiting_for_funds`: its checks succeed, and a transaction waits for funds.
 */
export type HealthCode = 
  | "not_checked"
  | "all_well"
  | "waiting_for_funds"
  | "provider_failed"
  | "NonceSyncFailed"
  | "RpcValidationFailed"
  | "BalanceCheckFailed"
  | "SequenceSyncFailed"
  | "ChainIdMismatch"
  | "Multiple"

/**
 * `unknown`: not checked yet. `degraded`: it works, but not with all providers. `failing`: checks have failed,
 * but too few to disable it.
 */
export type HealthStatus = "unknown" | "healthy" | "degraded" | "failing" | "disabled"

/**
 * `sends_nothing`: users have to pay the fees, and the policy names no token that they may pay with.
 * `timeout_bounded`: `timeout_seconds` of a stellar relayer is outside of its bounds. `not_used`: a field of the
 * policy has no effect. `no_channels`: `concurrent_transactions` of a stellar relayer is true, and it has no
 * channels. `clock_skew`: the newest stellar ledger is ahead of the clock. `ledger_stalled`: it is more than a
 * minute old. `store_too_short`: the provider keeps fewer ledgers than a day has. `protocol_unknown`: the
 * stellar network runs a newer protocol than this version of the service knows. `chain_changed`: the RPC URL
 * serves another chain than the one whose nonces or sequences are known, or a test network was restarted.
 */
export type HealthWarning = 
  | "sends_nothing"
  | "timeout_bounded"
  | "not_used"
  | "no_channels"
  | "clock_skew"
  | "ledger_stalled"
  | "store_too_short"
  | "protocol_unknown"
  | "chain_changed"

/** Prices that a URL of the operator has. */
export interface HttpPriceSource {
  /** The prices come from a URL. Example: `"http"` */
  readonly type: "http"
  /**
   * The service asks it with the query `network` (such as `solana:mainnet-beta`) and `token`. The answer is JSON
   * of at most 4 kB: `{"units": "150000000", "native": "1000000000"}`, and optionally `at`, the time of the price.
   * Example: `"https://prices.example.com/rate"`
   */
  readonly url: string
}

/** A running process of the service. */
export interface Instance {
  /** Identifies the process, until it ends. Example: `"4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"` */
  readonly id: string
  /** Version of the service that it runs. Example: `"0.1.0"` */
  readonly version: string
  /** When it started, by the clock of the database. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly started_at: DateTime.Utc
  /**
   * When it last wrote that it runs, which it does every ten seconds. One that was killed is listed for an hour.
   * Example: `"2026-01-02T03:04:05.678Z"`
   */
  readonly last_seen_at: DateTime.Utc
  /** Its background jobs, by name. Example: `{"lanes":"healthy"}` */
  readonly jobs: { readonly [key: string]: JobStatus }
  /** Accounts whose transactions it sends now. Absent for a key that is limited to relayers. Example: `12` */
  readonly lanes_held?: number
  /** Whether it is the one that answers. Example: `true` */
  readonly is_this: boolean
}

export interface InstanceListResponse extends ResponseEnvelope {
  /** The items of this page. */
  readonly data: ReadonlyArray<Instance>
}

/**
 * `unhealthy`: a task of the job has not succeeded for half a minute. `off`: this instance is configured to
 * leave the job to others.
 */
export type JobStatus = "healthy" | "unhealthy" | "off"

/** A JSON-RPC 2.0 call, or a batch of up to 100. */
export type JsonRpcCalls = JsonRpcRequest | ReadonlyArray<JsonRpcRequest>

/** Why a call failed. */
export interface JsonRpcError {
  /** Code of JSON-RPC or of the node. Example: `-32601` */
  readonly code: number
  /** What is wrong. Example: `"the method eth_sign is not in rpc_methods of the network"` */
  readonly message: string
  /** Further data of the node, such as revert data. Example: `"0x"` */
  readonly data?: unknown
}

/** The answer, or the answers to a batch in the order of its calls. */
export type JsonRpcReplies = JsonRpcResponse | ReadonlyArray<JsonRpcResponse>

/** A JSON-RPC 2.0 call. */
export interface JsonRpcRequest {
  /** Version of JSON-RPC. Example: `"2.0"` */
  readonly jsonrpc?: "2.0"
  /**
   * Identifier that the response repeats. If absent, it is 1; in a batch, a call without one gets no response.
   * Example: `1`
   */
  readonly id?: string | number | null
  /** Method to call. Example: `"eth_blockNumber"` */
  readonly method: string
  /** Parameters of the method. Example: `[]` */
  readonly params?: unknown
}

/** The answer to a JSON-RPC 2.0 call. */
export interface JsonRpcResponse {
  /** Version of JSON-RPC. Example: `"2.0"` */
  readonly jsonrpc: "2.0"
  /** Identifier of the call. Example: `1` */
  readonly id: string | number | null
  /** What the method returned. Example: `"0x121eac0"` */
  readonly result?: unknown
  /** Why the call failed. */
  readonly error?: JsonRpcError
}

/** What was done to which kind of resource. */
export type KnownAuditAction = 
  | "relayer.created"
  | "relayer.updated"
  | "relayer.deleted"
  | "relayer.repaired"
  | "relayer.message_signed"
  | "relayer.typed_data_signed"
  | "signer.created"
  | "signer.verified"
  | "signer.credentials_replaced"
  | "signer.disabled"
  | "signer.enabled"
  | "signer.repaired"
  | "signer.deleted"
  | "notification.created"
  | "notification.updated"
  | "notification.deleted"
  | "notification.delivery_retried"
  | "notification.deliveries_replayed"
  | "notification.tested"
  | "network.created"
  | "network.updated"
  | "network.repaired"
  | "network.deleted"
  | "key.created"
  | "key.updated"
  | "key.rotated"
  | "key.deleted"
  | "key.refused"
  | "session.created"
  | "session.ended"
  | "session.refused"
  | "configuration.compared"
  | "configuration.applied"
  | "master_key.rotated"
  | "audit.checkpoint_created"
  | "audit.pruned"
  | "transaction.sent"
  | "transaction.replaced"
  | "transaction.canceled"
  | "transaction.signed"
  | "nonce.resynced"
  | "nonce.cleared"
  | "nonce.generation_begun"

/** A kind of resource. */
export type KnownAuditResource = 
  | "relayer"
  | "signer"
  | "notification"
  | "network"
  | "key"
  | "session"
  | "configuration"
  | "master_key"
  | "audit"
  | "transaction"
  | "nonce"

/** What happened to which kind of resource. Webhooks use the same names. */
export type KnownEventType = 
  | "relayer.created"
  | "relayer.updated"
  | "relayer.deleted"
  | "relayer.paused"
  | "relayer.resumed"
  | "relayer.disabled"
  | "relayer.enabled"
  | "relayer.degraded"
  | "relayer.recovered"
  | "relayer.low_balance"
  | "signer.created"
  | "signer.disabled"
  | "signer.enabled"
  | "signer.deleted"
  | "notification.created"
  | "notification.updated"
  | "notification.deleted"
  | "notification.paused"
  | "network.created"
  | "network.updated"
  | "network.deleted"
  | "key.created"
  | "key.updated"
  | "key.rotated"
  | "key.deleted"
  | "master_key.rotated"
  | "transaction.created"
  | "transaction.signed"
  | "transaction.submitted"
  | "transaction.replaced"
  | "transaction.held"
  | "transaction.mined"
  | "transaction.reorged"
  | "transaction.reorged_final"
  | "transaction.confirmed"
  | "transaction.failed"
  | "transaction.canceled"
  | "transaction.expired"

/** Codes of transactions and accounts. */
export type KnownTransactionCode = 
  | "queued"
  | "relayer_paused"
  | "relayer_disabled"
  | "lane_window_full"
  | "waits_for_predecessors"
  | "not_before"
  | "nonce_taken"
  | "gas_price_above_cap"
  | "gas_price_below_base_fee"
  | "call_not_estimated"
  | "insufficient_funds"
  | "signer_unavailable"
  | "throttled"
  | "row_changed"
  | "providers_unavailable"
  | "rate_limited"
  | "chain_changed"
  | "nonce_out_of_range"
  | "nonce_ahead"
  | "nonce_unexplained"
  | "deep_reorg"
  | "nonce_taken_unproven"
  | "restored_unproven"
  | "sending"
  | "in_pool"
  | "not_in_pool_rebroadcast"
  | "underpriced_bumping"
  | "at_cap"
  | "below_base_fee"
  | "yielding"
  | "canceling"
  | "expiring"
  | "mined_waiting"
  | "reverted_unconfirmed"
  | "providers_disagree"
  | "second_provider_missing"
  | "chain_stalled"
  | "accepted_not_included"
  | "refused_in_unknown_words"
  | "dropped_by_node"
  | "reorged"
  | "confirmed"
  | "executed_late"
  | "canceled"
  | "deadline_passed"
  | "would_revert"
  | "gas_limit_above_block"
  | "own_account_has_code"
  | "reverted"
  | "out_of_gas"
  | "refused_by_all"
  | "nonce_taken_too_often"
  | "nonce_unavailable"
  | "policy_changed"
  | "gap_filled"
  | "priority_fee_above_cap"
  | "blockhash_unavailable"
  | "lookup_table_unavailable"
  | "account_unavailable"
  | "price_unavailable"
  | "failed_unconfirmed"
  | "landing_unproven"
  | "failed_on_chain"
  | "would_fail"
  | "blockhash_expired"
  | "attempts_exhausted"
  | "already_accepted"
  | "malformed"
  | "too_large"
  | "unsupported_version"
  | "fee_payer_mismatch"
  | "foreign_signer"
  | "too_many_signatures"
  | "durable_nonce"
  | "fee_payer_in_instruction"
  | "fee_payer_in_lookup_table"
  | "fee_above_cap"
  | "program_not_allowed"
  | "account_not_allowed"
  | "account_disallowed"
  | "lookup_table_unresolved"
  | "payment_missing"
  | "signature_missing"
  | "signature_invalid"
  | "value_above_cap"
  | "receiver_not_allowed"
  | "lamports_out"
  | "fee_payer_changed"
  | "authority_changed"
  | "needs_restore"
  | "no_account"
  | "awaiting_expiry"
  | "ledger_stalled"
  | "clock_skew"
  | "second_provider_behind"
  | "signer_unauthorized"
  | "sequence_exhausted"
  | "in_queue"
  | "try_again_later"
  | "refreshing"
  | "executed_by_other"
  | "operation_failed"
  | "auth_not_granted"
  | "auth_expired"
  | "balance_change"
  | "resource_fee_too_high"
  | "too_many_subentries"
  | "fee_token_clawback"
  | "payment_insufficient"
  | "sequence_used"

export interface LocalSigner {
  /** Identifier of the signer. Example: `"hot-1"` */
  readonly id: string & Brand.Brand<"SignerId">
  /** Where the key is stored. Example: `"local"` */
  readonly type: "local"
  /** Empty: all of the configuration is secret. Example: `{}` */
  readonly config: { readonly [key: string]: never }
  /** The address of the key on each network type. */
  readonly addresses: SignerAddresses
  /**
   * The configuration that owns the resource: its next apply reverts other changes. Absent while no configuration
   * owns it. Example: `"payments"`
   */
  readonly managed_by?: string
}

/** A log message of the request. */
export interface LogLine {
  /** Severity of the message. Example: `"info"` */
  readonly level: "log" | "info" | "error" | "warn" | "debug" | "result"
  /** The log message with its annotations. Example: `"relayer created"` */
  readonly message: string
}

/** The result of a rotation. */
export interface MasterKeyRotation {
  /** Identifies the key: the first bytes of its SHA-256, in hex. Example: `"9f86d081"` */
  readonly key_id: string
  /** Secrets that were encrypted again. Example: `12` */
  readonly rewrapped: number
  /**
   * Files of the service's machine that contain the new and the earlier master keys: copy them to a place where
   * the backups are not. Empty if the operator sets the keys. Example:
   * `["/var/lib/relayer/storage-encryption-key","/var/lib/relayer/storage-encryption-key.1a2b3c4d"]`
   */
  readonly key_files: ReadonlyArray<string>
  /** What to keep. Example: `"Backups from before this rotation need the previous master key: keep it."` */
  readonly note: string
}

export interface MasterKeyRotationResponse extends ResponseEnvelope {
  /** The result of a rotation. */
  readonly data: MasterKeyRotation
}

/**
 * Log messages and spans of this request. Present if it was sent with `X-Relayer-Debug: true`, or if there are
 * warnings: `row_unreadable` names a row that is missing in a list because the service cannot read it, and a
 * create with `check` says what is wrong with providers and account.
 */
export interface Metadata {
  /** Log messages of the request, oldest first. */
  readonly logs: ReadonlyArray<LogLine>
  /** Spans of the request, oldest first. */
  readonly traces: ReadonlyArray<Span>
  /**
   * Rows of the page of a list that the service cannot read. `total_items` counts them. Absent: all of them are
   * among the items.
   */
  readonly unreadable?: ReadonlyArray<UnreadableRow>
}

/** The configuration of a chain, with all inherited fields. */
export type Network = EvmNetwork | SolanaNetwork | StellarNetwork

export interface NetworkPageResponse extends ResponseEnvelope {
  /** The items of this page. */
  readonly data: ReadonlyArray<Network>
  /** The page that was served and the number of all items. */
  readonly pagination: Pagination
}

/** An RPC provider of a network, as the last checks of relayers found it, and with `check` as it answers now. */
export interface NetworkProvider {
  /** URL of the provider, without path, query and credentials. Example: `"https://rpc.example.com/***"` */
  readonly url: string
  /** Share of the calls, relative to the other URLs. A URL with weight 0 is never called. Example: `100` */
  readonly weight: number
  /**
   * `failing`: it failed the last check of at least one relayer. `unknown`: no relayer without RPC URLs of its own
   * was checked yet. Example: `"failing"`
   */
  readonly state: "working" | "failing" | "unknown"
  /** Why it failed most recently. Example: `"rate_limited"` */
  readonly code?: "unreachable" | "rate_limited" | "refused" | "invalid_answer" | "mismatch" | "too_low" | "no_account"
  /** The call that failed, and how. Never text of the provider. Example: `"the call has timed out"` */
  readonly error?: string
  /**
   * Since when the relayer is degraded, failing or disabled that has been so for the longest time, of those that
   * it failed. Example: `"2026-01-02T03:04:05.678Z"`
   */
  readonly since?: DateTime.Utc
  /**
   * Relayers whose last check asked it, of the newest 200 of the network without RPC URLs of their own. Example:
   * `12`
   */
  readonly relayers: number
  /** How many of them it failed. Example: `2` */
  readonly failing: number
  /**
   * Milliseconds within which it said which chain it serves, in half of those checks. Absent if it answered none.
   * Example: `42`
   */
  readonly p50_ms?: number
  /** The same in 95 % of them. Example: `180` */
  readonly p95_ms?: number
  /** Protocol of the stellar network, as it said most recently. Example: `28` */
  readonly protocol_version?: number
  /**
   * What this version of the service refuses, because the network runs a newer protocol than it knows. Example:
   * `"The network runs protocol 29, and this version of the service knows protocol 28."`
   */
  readonly warning?: string
  /** When it was last asked by a check. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly checked_at?: DateTime.Utc
  /**
   * Milliseconds within which it said which chain it serves, now. Like the fields after it, only with `check`.
   * Example: `42`
   */
  readonly latency_ms?: number
  /**
   * Calls in one HTTP request that the service sends to it: 50 at most, or what it takes, as far as the instance
   * that answers knows. Example: `3`
   */
  readonly batch_size?: number
  /** Software of its node, as it says. Example: `"Geth/v1.16.9"` */
  readonly client_version?: string
  /** Whether it knows the newest final block. Example: `true` */
  readonly finalized?: boolean
  /** Whether it says which fees recent blocks took. Example: `true` */
  readonly fee_history?: boolean
  /**
   * Whether it has the state of the first blocks (evm), or the transactions since the first slot (solana). Without
   * it, what used a nonce long ago cannot be proven. Example: `false`
   */
  readonly archive?: boolean
}

export interface NetworkProviderListResponse extends ResponseEnvelope {
  /** The items of this page. */
  readonly data: ReadonlyArray<NetworkProvider>
}

export interface NetworkResponse extends ResponseEnvelope {
  /** The configuration of a chain, with all inherited fields. */
  readonly data: Network
}

/** The family of chains. */
export type NetworkType = "evm" | "solana" | "stellar"

/** An API key with the key itself. */
export interface NewApiKey {
  /** Identifier of the API key. Example: `"0b9f5a52-5c1e-4f0c-9a43-8f0c3f9b2d11"` */
  readonly id: string & Brand.Brand<"ApiKeyId">
  /** Name of the key, for people. Example: `"Payout service"` */
  readonly name: string
  /** What the key may do. Example: `["relayers:read","relayers:write"]` */
  readonly scopes: ReadonlyArray<Scope>
  /**
   * The only relayers that the key can use. If absent, it can use all relayers, including later ones. A deleted
   * relayer is removed from the list; a key whose list is empty can use none. Example: `["payouts"]`
   */
  readonly relayer_ids?: ReadonlyArray<string & Brand.Brand<"RelayerId">>
  /** When the key was created. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly created_at: DateTime.Utc
  /** When the key expires. If absent, it does not expire. Example: `"2030-01-01T00:00:00.000Z"` */
  readonly expires_at?: DateTime.Utc
  /**
   * What the key may send, per network type: nothing on networks of a type without limits. If absent, everything
   * that the policies of its relayers allow. A key that a limited key creates has at most the same limits.
   * Example:
   * `{"max_value":"1000000000000000000","max_fee_per_day":"50000000000000000","solana":{"max_value":"2000000000","max_fee_per_day":"50000000"}}`
   */
  readonly transaction_limits?: TransactionLimits
  /** Until when the key before the last rotation is valid. Example: `"2026-01-03T03:04:05.678Z"` */
  readonly previous_expires_at?: DateTime.Utc
  /** When the key was last used, to the minute. Example: `"2026-01-02T03:05:00.000Z"` */
  readonly last_used_at?: DateTime.Utc
  /** The network address that the key was last used from. Example: `"203.0.113.7"` */
  readonly last_used_from?: string
  /** Id of the caller that created the key. Absent for keys of earlier versions. Example: `"administrator"` */
  readonly created_by?: string
  /**
   * The configuration that owns the resource: its next apply reverts other changes. Absent while no configuration
   * owns it. Example: `"payments"`
   */
  readonly managed_by?: string
  /** The key itself. It is not returned again. Example: `"rk_7Jx0mZ2kQv"` */
  readonly key: Redacted.Redacted<string>
}

export interface NewApiKeyResponse extends ResponseEnvelope {
  /** An API key with the key itself. */
  readonly data: NewApiKey
}

/** What the command changed. */
export interface NonceDecision {
  /** Transactions that it changed. Example: `["4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"]` */
  readonly transaction_ids: ReadonlyArray<string & Brand.Brand<"TransactionId">>
}

export interface NonceDecisionResponse extends ResponseEnvelope {
  /** What the command changed. */
  readonly data: NonceDecision
}

/** Nonces of the ledger next to those of the chain. */
export interface NonceState {
  /** Account, in lower case. Example: `"0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"` */
  readonly address: string
  /** Chain id (EIP-155). Example: `11155111` */
  readonly chain_id: number
  /** How often an operator declared that the test network was restarted. Example: `0` */
  readonly generation: number
  /** Nonce that the service assigns next. Example: `12` */
  readonly next_nonce: number
  /** Highest transaction count of the account that the service has accepted from the chain. Example: `10` */
  readonly known_count: number
  /** All transactions with a lower nonce are final. Example: `8` */
  readonly settled_nonce: number
  /** Open transactions of the account without a nonce. Example: `3` */
  readonly pending: number
  /** Open transactions of the account with a nonce. Example: `2` */
  readonly in_flight: number
  /** Transactions that may be in flight at once, at present. Example: `64` */
  readonly window?: number
  /** Lowest nonce of an open transaction. Example: `10` */
  readonly oldest_open_nonce?: number
  /** Why the service assigns no nonces to the account's transactions. Example: `"nonce_ahead"` */
  readonly code?: TransactionCode
  /** Since when. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly code_since?: DateTime.Utc
  /**
   * Transactions of the account in blocks, read from a provider for this response. Absent if no provider answers.
   * Example: `10`
   */
  readonly chain_count?: number
  /** The same, plus the transactions in the provider's pool. Example: `12` */
  readonly chain_pending_count?: number
}

/** A receiver of webhooks. */
export interface Notification {
  /** Identifier of the notification. Example: `"ops"` */
  readonly id: string & Brand.Brand<"NotificationId">
  /** Kind of the notification. Example: `"webhook"` */
  readonly type: "webhook"
  /**
   * URL of the receiver. Only a key with `notifications:write` gets its path and query, which may contain a
   * secret; for others, and in events and audit records, they are masked: `https://hooks.example.com/***`.
   * Example: `"https://hooks.example.com/relayer"`
   */
  readonly url: string
  /** Whether webhooks are signed. Example: `true` */
  readonly has_signing_key: boolean
  /** While true, deliveries are held back, for at most 24 hours. Absent while false. Example: `true` */
  readonly paused: boolean
  /**
   * The configuration that owns the resource: its next apply reverts other changes. Absent while no configuration
   * owns it. Example: `"payments"`
   */
  readonly managed_by?: string
}

export interface NotificationPageResponse extends ResponseEnvelope {
  /** The items of this page. */
  readonly data: ReadonlyArray<Notification>
  /** The page that was served and the number of all items. */
  readonly pagination: Pagination
}

export interface NotificationResponse extends ResponseEnvelope {
  /** A receiver of webhooks. */
  readonly data: Notification
}

/** Transactions that are not final. */
export interface OpenCounts {
  /** Transactions that nothing was signed for. Example: `12` */
  readonly pending: number
  /** Signed transactions that are not final. Example: `4` */
  readonly in_flight: number
  /** How many of both wait for something else than their turn. Example: `2` */
  readonly held: number
  /** When the oldest of them was accepted. Example: `"2026-01-02T03:04:00.000Z"` */
  readonly oldest_at?: DateTime.Utc
}

/** A transaction after an event, of a network type that only later versions of the service know. */
export interface OtherTransactionPayload {
  /** Always `transaction`. Example: `"transaction"` */
  readonly payload_type: "transaction"
  /** Network type of the relayer. Example: `"other"` */
  readonly network_type: string
  /** Identifier of the transaction. Example: `"4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"` */
  readonly id: string & Brand.Brand<"TransactionId">
  /** Relayer that sends it. Example: `"payouts"` */
  readonly relayer_id: string & Brand.Brand<"RelayerId">
  /** State of the transaction. Example: `"submitted"` */
  readonly status: TransactionStatus
  /** What it waits for, or why it ended, as a sentence. Example: `"It was canceled."` */
  readonly status_reason?: string
  /** The same as a code. Example: `"in_pool"` */
  readonly code?: TransactionCode
  /** When it was accepted. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly created_at: DateTime.Utc
  /** When it was first sent. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly sent_at?: DateTime.Utc
  /** When it was confirmed. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly confirmed_at?: DateTime.Utc
  /**
   * 1 if one RPC provider has decided alone that it is final, after no other one had an opinion for the time of
   * `finality_by_one`. Otherwise absent. Example: `1`
   */
  readonly confirmed_by?: number
  /** Whether a cancel was requested. The transaction may still be executed. Example: `false` */
  readonly is_canceled: boolean
  /** The caller's identifier. Example: `"order-1234"` */
  readonly external_id?: string
  /** Deadline. Example: `"2026-11-22T20:00:00.000Z"` */
  readonly valid_until?: DateTime.Utc
  /** Address of the relayer. Example: `"GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"` */
  readonly from: string
  /** Hash of the attempt that was mined, else of the newest. Example: `"5c5c5c"` */
  readonly hash?: string
}

/** A transaction of a network type that a newer version of the service has stored. */
export interface OtherTransactionResponse {
  /** Network type of the relayer. Example: `"other"` */
  readonly network_type: string
  /** Identifier of the transaction. Example: `"4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"` */
  readonly id: string & Brand.Brand<"TransactionId">
  /** Relayer that sends it. Example: `"payouts"` */
  readonly relayer_id: string & Brand.Brand<"RelayerId">
  /** State of the transaction. Example: `"submitted"` */
  readonly status: TransactionStatus
  /** What it waits for, or why it ended, as a sentence. Example: `"It was canceled."` */
  readonly status_reason?: string
  /** The same as a code. Example: `"in_pool"` */
  readonly code?: TransactionCode
  /** When it was accepted. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly created_at: DateTime.Utc
  /** When it was first sent. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly sent_at?: DateTime.Utc
  /** When it was confirmed. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly confirmed_at?: DateTime.Utc
  /**
   * 1 if one RPC provider has decided alone that it is final, after no other one had an opinion for the time of
   * `finality_by_one`. Otherwise absent. Example: `1`
   */
  readonly confirmed_by?: number
  /** Whether a cancel was requested. The transaction may still be executed. Example: `false` */
  readonly is_canceled: boolean
  /** The caller's identifier. Example: `"order-1234"` */
  readonly external_id?: string
  /** Deadline. Example: `"2026-11-22T20:00:00.000Z"` */
  readonly valid_until?: DateTime.Utc
  /** Address of the relayer. Example: `"GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"` */
  readonly from: string
  /** Hash of the attempt that was mined, else of the newest. Example: `"5c5c5c"` */
  readonly hash?: string
}

/** The page that was served and the number of all items. */
export interface Pagination {
  /** The page that was served, from 1. Example: `1` */
  readonly current_page: number
  /** The page size that was served, at most 1000. Example: `10` */
  readonly per_page: number
  /** Items on all pages. With `cursor`, the count of the first page. Example: `42` */
  readonly total_items: number
}

export interface Pkcs11Signer {
  /** Identifier of the signer. Example: `"hot-1"` */
  readonly id: string & Brand.Brand<"SignerId">
  /** Where the key is stored. Example: `"pkcs11"` */
  readonly type: "pkcs11"
  /** The configuration without its secrets. */
  readonly config: {
    /** Name of the module, as PKCS11_MODULES of the service defines it. Example: `"hsm"` */
    readonly module: string
    /** Label of the token. Example: `"relayer"` */
    readonly token_label: string
    /** Serial number of the token. Example: `"bddb53699fe07764"` */
    readonly token_serial: string
    /** Label (CKA_LABEL) of the private key. Example: `"hot-1"` */
    readonly key_label?: string
    /** Id (CKA_ID) of the key in hex. Example: `"01"` */
    readonly key_id?: string
  }
  /** Curve of a signature: secp256k1 for evm, ed25519 for solana and stellar. Example: `"secp256k1"` */
  readonly curve: Curve
  /**
   * The public key in hex: the uncompressed point of 65 bytes for secp256k1, 32 bytes for ed25519. An addition to
   * the common wire format. Example: `"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"`
   */
  readonly public_key: string
  /** The addresses of the key on the network types of its curve. */
  readonly addresses: SignerAddressesOfCurve
  /** Why the service no longer signs with the key. A successful verification enables the signer again. */
  readonly disabled_reason?: SignerDisabledReason
  /**
   * The configuration that owns the resource: its next apply reverts other changes. Absent while no configuration
   * owns it. Example: `"payments"`
   */
  readonly managed_by?: string
}

export interface PlainSigner {
  /** Identifier of the signer. Example: `"hot-1"` */
  readonly id: string & Brand.Brand<"SignerId">
  /** Where the key is stored. Example: `"plain"` */
  readonly type: "plain"
  /** Empty: all of the configuration is secret. Example: `{}` */
  readonly config: { readonly [key: string]: never }
  /** The address of the key on each network type. */
  readonly addresses: SignerAddresses
  /**
   * The configuration that owns the resource: its next apply reverts other changes. Absent while no configuration
   * owns it. Example: `"payments"`
   */
  readonly managed_by?: string
}

export interface PlanConfigurationRequest {
  /**
   * The configuration, as `relayers.schema.json` describes it, with values in the places of references to secrets.
   * Example: `{"version":1,"name":"payments","notifications":{"ops":{"url":"https://hooks.example.com/relayer"}}}`
   */
  readonly document: { readonly [key: string]: unknown }
  /** What the plan may do beyond creating and changing objects. */
  readonly options?: PlanOptions
  /**
   * Texts that are shown instead of values of the document, by path. Example:
   * `{"notifications.ops.url":"https://${RELAYER_HOST}/relayer"}`
   */
  readonly templates?: { readonly [key: string]: string }
}

/** How many objects a plan concerns. */
export interface PlanCounts {
  /** Objects to create. Example: `1` */
  readonly create: number
  /** Objects to update and to replace, and adopted ones that differ. Example: `1` */
  readonly change: number
  /** Objects to delete. Example: `0` */
  readonly delete: number
  /** Objects that stay as they are, also if they only get an owner. Example: `41` */
  readonly unchanged: number
}

/** What a plan may do beyond creating and changing objects. */
export interface PlanOptions {
  /**
   * Whether objects of the configuration that the document no longer contains are deleted. Only in sections that
   * the document has. Example: `true`
   */
  readonly prune?: boolean
  /** Whether objects of other configurations become objects of this one. Example: `true` */
  readonly take_over?: boolean
  /** Names of objects that may be deleted and created again. Example: `["relayers.treasury"]` */
  readonly replace?: ReadonlyArray<string>
  /** Ids of signers that may be deleted although their key exists only in the service. Example: `["hot-1"]` */
  readonly destroy_keys?: ReadonlyArray<string>
}

/** A difference of one field. */
export interface PlannedChange {
  /** The field. Example: `"policies.gas_price_cap"` */
  readonly path: string
  /** The value before. Absent if there is none, or if it is secret. Example: `"1"` */
  readonly before?: string
  /** The value afterwards. Absent if there is none, or if it is secret. Example: `"2"` */
  readonly after?: string
  /** New entries of a set. Example: `["relayers:write"]` */
  readonly added?: ReadonlyArray<string>
  /** Entries that are removed from a set. Example: `["signers:*"]` */
  readonly removed?: ReadonlyArray<string>
  /** Whether only that the value differs is shown. Example: `false` */
  readonly is_secret: boolean
  /** What else is known about a secret value. Example: `"same host"` */
  readonly remark?: string
  /** Whether the change allows more than before, or cannot be undone. Example: `false` */
  readonly is_warning: boolean
  /**
   * What has changed since the configuration was applied: `file`: the document; `drift`: the service; `both`: each
   * in its own way. Absent for objects that it has not applied. Example: `"drift"`
   */
  readonly origin?: "file" | "drift" | "both"
}

/** The last change of an object outside of its document. */
export interface PlannedDrift {
  /** When, in ISO 8601. Example: `"2026-11-22T10:00:00.000Z"` */
  readonly at?: string
  /** Which caller: the id of its API key. Example: `"dashboard"` */
  readonly by?: string
}

/** What a plan does to one object. */
export interface PlannedStep {
  /** The section of the object. Example: `"relayers"` */
  readonly kind: "networks" | "notifications" | "signers" | "relayers" | "api_keys"
  /** The id of the object. Example: `"treasury"` */
  readonly id: string
  /**
   * What happens to the object. `adopt`: the configuration becomes its owner; `keep`: the document no longer
   * contains it; `none`: it is as the document says. Example: `"update"`
   */
  readonly action: "create" | "adopt" | "update" | "replace" | "delete" | "keep" | "none"
  /**
   * What a new object is, in parts: its network and its signer, or its scopes. Example: `["evm:sepolia","signer
   * hot-1"]`
   */
  readonly summary?: ReadonlyArray<string>
  /** Why it is kept, or what the deletion does. Example: `"resets its overrides"` */
  readonly reason?: string
  /** The differences, by path. */
  readonly changes: ReadonlyArray<PlannedChange>
  /**
   * When and by which caller the object was changed outside of the document, as far as the audit log says. Absent:
   * it was not.
   */
  readonly drift?: PlannedDrift
  /** Whether a change allows more than before, or cannot be undone. Example: `false` */
  readonly is_warning: boolean
}

/** What a policy would have done to past transactions. The policy was not changed. */
export interface PolicyRehearsal {
  /** The days that were tried. Example: `30` */
  readonly days: number
  /** The number of final transactions that were tried. Example: `12431` */
  readonly transactions: number
  /**
   * Transactions that were mined at a base fee above the wanted gas_price_cap, and legacy ones with a price above
   * it.
   */
  readonly would_hold: RehearsedHolds
  /** Transactions that the policy would have refused, by field. Example: `[]` */
  readonly would_refuse: ReadonlyArray<RehearsedRefusals>
  /** What the stored transactions do not tell. Example: `["base fees of blocks in which the relayer did not send"]` */
  readonly unknown: ReadonlyArray<string>
}

export interface PolicyRehearsalResponse extends ResponseEnvelope {
  /** What a policy would have done to past transactions. The policy was not changed. */
  readonly data: PolicyRehearsal
}

export type PriceLimit = "given" | "cap" | "api_key" | "first_price" | "operator"

/** Where the prices of tokens come from. */
export type PriceSource = FixedPriceSource | HttpPriceSource

/** The state of a provider. */
export interface ProviderReading {
  /** URL of the provider, without path, query and credentials. Example: `"https://rpc.example.com/***"` */
  readonly url: string
  /** Share of the calls, relative to the other URLs. A URL with weight 0 is never called. Example: `100` */
  readonly weight: number
  /** State of the circuit breaker. An `open` provider is not called while others work. Example: `"closed"` */
  readonly breaker: "closed" | "open" | "half_open"
  /** Whether the last call failed. Example: `false` */
  readonly failed: boolean
  /**
   * Milliseconds in which it said which chain it serves, retries included. Absent if it did not, or was not asked.
   * Example: `42`
   */
  readonly latency_ms?: number
  /** Protocol of the stellar network, as the provider says. Example: `28` */
  readonly protocol_version?: number
  /** Why the provider failed in this inspection. Example: `"rate_limited"` */
  readonly code?: "unreachable" | "rate_limited" | "refused" | "invalid_answer" | "mismatch" | "too_low" | "no_account"
  /**
   * The call that failed, and its HTTP status, JSON-RPC code, time limit, or the two chain ids. Never text of the
   * provider. Example: `"eth_getBalance: HTTP 429"`
   */
  readonly error?: string
}

/** Confirms the checkpoint whose records are to be pruned. */
export interface PruneAudit {
  /** Hash of the newest record. Example: `"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"` */
  readonly hash: string
}

/** A transaction whose fee is to be quoted in a token. */
export interface QuoteSolanaTransactionRequest {
  /**
   * The user's transaction, legacy, version 0 or version 1, whose fee payer is the user, as base64 or as an array
   * of bytes. Example: `"AQAAAA=="`
   */
  readonly transaction: string | ReadonlyArray<number>
  /** Mint of the token. Example: `"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"` */
  readonly fee_token: string
}

/** A transaction whose fee is to be quoted, as the network type of the relayer has it. */
export type QuoteSponsoredTransactionRequest = QuoteSolanaTransactionRequest | QuoteStellarTransactionRequest

/** A transaction whose fee is to be quoted in a token. */
export interface QuoteStellarTransactionRequest {
  /**
   * An envelope of the user in base64, signed or not, instead of `operations`. Its signatures are dropped.
   * Example: `"AAAAAgAAAAA="`
   */
  readonly transaction_xdr?: string
  /** 1 to 99 operations, or one call of a contract, instead of `transaction_xdr`. */
  readonly operations?: ReadonlyArray<StellarOperation>
  /**
   * The user's account. It must be given with `operations`. Example:
   * `"GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"`
   */
  readonly source_account?: string
  /**
   * The token as `allowed_tokens` of the policy names it: CODE:ISSUER, or for a call of a contract the contract of
   * the token. Example: `"USDC:GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"`
   */
  readonly fee_token: string
}

/** Whether an instance can answer requests and do its work. */
export interface Readiness {
  /** Whether a load balancer should send requests to this instance. Also true while degraded. Example: `true` */
  readonly ready: boolean
  /**
   * `degraded`: the instance answers requests, but a component other than `database` and `process` is unhealthy.
   * Example: `"healthy"`
   */
  readonly status: "healthy" | "degraded" | "unhealthy"
  /**
   * Version of the service that this instance runs, with its commit if that is not the release of the version:
   * `0.1.0+652c174`. Example: `"0.1.0"`
   */
  readonly version: string
  /** What the instance needs for its work. */
  readonly components: {
    /** The database answers, and its schema is current. */
    readonly database: {
      /** State of the component. Example: `"healthy"` */
      readonly status: "healthy" | "unhealthy"
    }
    /** `unhealthy` as soon as the process begins to stop. */
    readonly process: {
      /** State of the component. Example: `"healthy"` */
      readonly status: "healthy" | "unhealthy"
    }
    /** The background jobs. */
    readonly jobs: {
      /** The worst status of the jobs. Example: `"healthy"` */
      readonly status: JobStatus
      /** Links the records of the audit log. Example: `"healthy"` */
      readonly audit: JobStatus
      /** Sends webhooks. Example: `"healthy"` */
      readonly deliveries: JobStatus
      /** Notifies the readers of events, and reads for them. Example: `"healthy"` */
      readonly events: JobStatus
      /** Measures the gauges that need the database. Example: `"healthy"` */
      readonly gauges: JobStatus
      /** Checks relayers on their chains. Example: `"healthy"` */
      readonly health_checks: JobStatus
      /** Sends transactions, and follows them until they are final. Example: `"healthy"` */
      readonly lanes: JobStatus
      /** Deletes what is older than its retention. Example: `"healthy"` */
      readonly retention: JobStatus
    }
    /** `unhealthy`: the audit log does not contain a record that this instance has seen in it. */
    readonly audit: {
      /** State of the component. Example: `"healthy"` */
      readonly status: "healthy" | "unhealthy"
      /**
       * Why it is unhealthy. The log has the details. Example: `"events wait for a transaction that has been open on
       * the database server for more than 30 seconds"`
       */
      readonly reason?: string
    }
    /** `unhealthy`: an old transaction on the database server keeps events from their readers. */
    readonly events: {
      /** State of the component. Example: `"healthy"` */
      readonly status: "healthy" | "unhealthy"
      /**
       * Why it is unhealthy. The log has the details. Example: `"events wait for a transaction that has been open on
       * the database server for more than 30 seconds"`
       */
      readonly reason?: string
    }
    /**
     * `unhealthy`: rows of relayers, signers or networks cannot be verified, so that they are not used. All others
     * are served.
     */
    readonly rows: {
      /** State of the component. Example: `"healthy"` */
      readonly status: "healthy" | "unhealthy"
      /**
       * Why it is unhealthy. The log has the details. Example: `"events wait for a transaction that has been open on
       * the database server for more than 30 seconds"`
       */
      readonly reason?: string
    }
  }
}

export interface RehearsePolicyRequest {
  /**
   * A merge patch of the relayer's policy, as a PATCH of the relayer takes it. It is not applied. Example:
   * `{"gas_price_cap":"50000000000"}`
   */
  readonly policies: { readonly [key: string]: unknown } | null
  /** Transactions are tried that were accepted in this number of days before now. The default is 30. Example: `30` */
  readonly days?: number
}

/** A transaction that the policy would have held. */
export interface RehearsedHold {
  /** Id of the transaction. Example: `"0198c1de-5f00-7000-8000-000000000001"` */
  readonly id: string & Brand.Brand<"TransactionId">
  /** The code that it would have had. Example: `"gas_price_above_cap"` */
  readonly code: "gas_price_above_cap"
  /**
   * Blocks from its first send until one whose base fee is at most the wanted cap. Absent if a provider does not
   * say so within 512 blocks. Example: `14`
   */
  readonly blocks?: number
}

/** Transactions that the policy would have held. */
export interface RehearsedHolds {
  /** The number of transactions. Example: `37` */
  readonly count: number
  /** The newest of these transactions, at most 10. Example: `[]` */
  readonly first: ReadonlyArray<RehearsedHold>
}

/** A transaction. */
export interface RehearsedRefusal {
  /** Id of the transaction. Example: `"0198c1de-5f00-7000-8000-000000000001"` */
  readonly id: string & Brand.Brand<"TransactionId">
}

/** Transactions that the policy would have refused. */
export interface RehearsedRefusals {
  /**
   * The code of a transaction that was accepted before the policy was changed. A new request gets 400. Example:
   * `"policy_changed"`
   */
  readonly code: "policy_changed"
  /** The field of the request that the policy does not allow. Example: `"to"` */
  readonly field: string
  /**
   * What is wrong with it: the words of the 400. Example: `"is not in whitelist_receivers of the relayer's
   * policy"`
   */
  readonly message: string
  /** The number of transactions. Example: `37` */
  readonly count: number
  /** The newest of these transactions, at most 10. Example: `[]` */
  readonly first: ReadonlyArray<RehearsedRefusal>
}

/** An account on one network with one signer. */
export type Relayer = EvmRelayer | SolanaRelayer | StellarRelayer

/** The balance of a relayer's account. */
export interface RelayerBalance {
  /** Balance in `unit`. Example: `1000000000000000` */
  readonly balance: bigint
  /** The chain's smallest unit. Example: `"wei"` */
  readonly unit: "wei" | "lamport" | "stroop"
}

export interface RelayerBalanceResponse extends ResponseEnvelope {
  /** The balance of a relayer's account. */
  readonly data: RelayerBalance
}

/** A relayer was created, changed or deleted. */
export interface RelayerChangedWebhook {
  /**
   * The same in every attempt, and the same as the header `webhook-id`. Example:
   * `"0191e9a0-7b1c-7000-8000-5e0c3f9b2d11"`
   */
  readonly id: string
  /** What happened, as in `type` of the event feed. Example: `"relayer.created"` */
  readonly type: "relayer.created" | "relayer.updated" | "relayer.deleted"
  /** Group of the event, for receivers of other services. `type` says more. Example: `"relayer_update"` */
  readonly event: "relayer_update"
  /** What happened. */
  readonly payload: {
    /** The same as `type`, with `_` instead of `.`. Example: `"relayer_created"` */
    readonly payload_type: "relayer_created" | "relayer_updated" | "relayer_deleted"
    /** The relayer after the event; if it was deleted, before it. */
    readonly relayer: Relayer
  }
  /** When it happened. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly timestamp: DateTime.Utc
}

/** A relayer was disabled by its health check. */
export interface RelayerDisabledWebhook {
  /**
   * The same in every attempt, and the same as the header `webhook-id`. Example:
   * `"0191e9a0-7b1c-7000-8000-5e0c3f9b2d11"`
   */
  readonly id: string
  /** What happened, as in `type` of the event feed. Example: `"relayer.disabled"` */
  readonly type: "relayer.disabled"
  /** Group of the event, for receivers of other services. `type` says more. Example: `"relayer_state_update"` */
  readonly event: "relayer_state_update"
  /** What happened. */
  readonly payload: {
    /** The same as `type`, with `_` instead of `.`. Example: `"relayer_disabled"` */
    readonly payload_type: "relayer_disabled"
    /** The relayer after the event; if it was deleted, before it. */
    readonly relayer: Relayer
    /** The failed checks, for people. Example: `"the balance is below min_balance"` */
    readonly disable_reason: string
  }
  /** When it happened. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly timestamp: DateTime.Utc
}

/** A disabled relayer works again. */
export interface RelayerEnabledWebhook {
  /**
   * The same in every attempt, and the same as the header `webhook-id`. Example:
   * `"0191e9a0-7b1c-7000-8000-5e0c3f9b2d11"`
   */
  readonly id: string
  /** What happened, as in `type` of the event feed. Example: `"relayer.enabled"` */
  readonly type: "relayer.enabled"
  /** Group of the event, for receivers of other services. `type` says more. Example: `"relayer_state_update"` */
  readonly event: "relayer_state_update"
  /** What happened. */
  readonly payload: {
    /** The same as `type`, with `_` instead of `.`. Example: `"relayer_enabled"` */
    readonly payload_type: "relayer_enabled"
    /** The relayer after the event; if it was deleted, before it. */
    readonly relayer: Relayer
    /** Always 0. Example: `0` */
    readonly retry_count: 0
  }
  /** When it happened. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly timestamp: DateTime.Utc
}

/** Why a relayer is in its state, and what happens next. */
export interface RelayerExplanation {
  /**
   * `unknown`: not checked yet. `degraded`: it works, but not with all providers. `failing`: checks have failed,
   * but too few to disable it. Example: `"healthy"`
   */
  readonly state: HealthStatus
  /**
   * Cause of the state, for programs. If the relayer is failing or disabled, it is the type of the reason.
   * `waiting_for_funds`: its checks succeed, and a transaction waits for funds. Example: `"all_well"`
   */
  readonly code: HealthCode
  /** Whether the operator has paused the relayer, whatever its state is. Example: `false` */
  readonly paused: boolean
  /** Why the relayer is in its state, for people. Example: `"The last check found everything well."` */
  readonly reason: string
  /** What happens next, for people. Example: `"It is checked again; one failure alone does not disable it."` */
  readonly next: string
  /** What is wrong although its checks succeed. Absent: nothing. Example: `["sends_nothing"]` */
  readonly warnings?: ReadonlyArray<HealthWarning>
  /** What to send where, while the balance is below `min_balance` or a transaction waits for funds. */
  readonly funding?: Funding
  /** Stroops of reserves that a stellar relayer pays for its channels. Absent: it has none. Example: `"75000000"` */
  readonly locked_by_channels?: bigint
  /** When `next` happens. A time in the past means very soon. Example: `"2026-01-02T03:05:05.678Z"` */
  readonly next_at: DateTime.Utc
  /** Since when the relayer is in its state. Absent before the first check. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly since?: DateTime.Utc
}

export interface RelayerExplanationResponse extends ResponseEnvelope {
  /** Why a relayer is in its state, and what happens next. */
  readonly data: RelayerExplanation
}

/** The last check of a relayer, and its open transactions. */
export interface RelayerHealthSummary {
  /**
   * `unknown`: not checked yet. `degraded`: it works, but not with all providers. `failing`: checks have failed,
   * but too few to disable it. Example: `"healthy"`
   */
  readonly state: HealthStatus
  /**
   * What is wrong: a type of `disabled_reason`, `provider_failed`, or `low_balance`. Absent if nothing is.
   * Example: `"BalanceCheckFailed"`
   */
  readonly code?: string
  /** Since when it is in this state. Absent before the first check. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly since?: DateTime.Utc
  /**
   * Balance in the chain's smallest unit, as the last check that read it found it. Absent if none did. Example:
   * `"1000000000000000000"`
   */
  readonly balance?: bigint
  /** When the balance was read. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly read_at?: DateTime.Utc
  /** Transactions that are not final. Example: `2` */
  readonly open: number
  /** When the oldest of them was accepted. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly oldest_open_at?: DateTime.Utc
  /** When its newest confirmed transaction was confirmed. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly last_confirmed_at?: DateTime.Utc
}

export interface RelayerPageResponse extends ResponseEnvelope {
  /** The items of this page. */
  readonly data: ReadonlyArray<Relayer>
  /** The page that was served and the number of all items. */
  readonly pagination: Pagination
}

export interface RelayerResponse extends ResponseEnvelope {
  /** An account on one network with one signer. */
  readonly data: Relayer
}

/** The state of a relayer has changed. */
export interface RelayerStateWebhook {
  /**
   * The same in every attempt, and the same as the header `webhook-id`. Example:
   * `"0191e9a0-7b1c-7000-8000-5e0c3f9b2d11"`
   */
  readonly id: string
  /** What happened, as in `type` of the event feed. Example: `"relayer.paused"` */
  readonly type: "relayer.paused" | "relayer.resumed" | "relayer.degraded" | "relayer.recovered" | "relayer.low_balance"
  /** Group of the event, for receivers of other services. `type` says more. Example: `"relayer_state_update"` */
  readonly event: "relayer_state_update"
  /** What happened. */
  readonly payload: {
    /** The same as `type`, with `_` instead of `.`. Example: `"relayer_paused"` */
    readonly payload_type: "relayer_paused" | "relayer_resumed" | "relayer_degraded" | "relayer_recovered" | "relayer_low_balance"
    /** The relayer after the event; if it was deleted, before it. */
    readonly relayer: Relayer
  }
  /** When it happened. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly timestamp: DateTime.Utc
}

/** Whether a relayer works, and its account on the chain. */
export type RelayerStatus = EvmRelayerStatus | SolanaRelayerStatus | StellarRelayerStatus

export interface RelayerStatusResponse extends ResponseEnvelope {
  /** Whether a relayer works, and its account on the chain. */
  readonly data: RelayerStatus
}

export interface ReplaceAzureKeyVaultCredentialsRequest {
  /** Where the key is stored. Example: `"azure_key_vault"` */
  readonly type: "azure_key_vault"
  /** Where the key is in Azure Key Vault or Managed HSM, and how the service logs in. */
  readonly config: {
    /**
     * How the service logs in: with a client secret, with the managed identity of its machine, or with a token file
     * (workload identity). The default is client_secret. Example: `"client_secret"`
     */
    readonly auth_type?: "client_secret" | "managed_identity" | "workload_identity"
    /** Directory (tenant) of the application. Example: `"contoso.onmicrosoft.com"` */
    readonly tenant_id?: string
    /** Client id of the application or of a user-assigned identity. Example: `"3d1e6a0f-6d0f-4c4c-9d1c-6f7d2f6d8a11"` */
    readonly client_id?: string
    /** Client secret of the application, for auth_type client_secret. Example: `"abc8Q~0123456789"` */
    readonly client_secret?: Redacted.Redacted<string>
    /**
     * Token file for auth_type workload_identity, in the directory AZURE_TOKEN_DIRECTORY of the service. If absent,
     * the file AZURE_FEDERATED_TOKEN_FILE of the service. Example:
     * `"/var/run/secrets/azure/tokens/azure-identity-token"`
     */
    readonly federated_token_file?: Redacted.Redacted<string>
    /** URL of the vault or Managed HSM. It determines the login host. Example: `"https://relayers.vault.azure.net"` */
    readonly vault_url: string
    /** Name of the key. Example: `"hot-1"` */
    readonly key_name: string
    /**
     * Version of the key. If absent, the signer keeps the version that is current when it is created. Example:
     * `"9885aa558e8d448789683188f8c194b0"`
     */
    readonly key_version?: string
  }
}

/** What a transaction does instead. */
export interface ReplaceEvmTransactionRequest {
  /**
   * Receiver, or contract that is called. If absent, `data` creates a contract. Example:
   * `"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"`
   */
  readonly to?: string
  /** Wei that is sent. The default is 0. Example: `"1000000000000000"` */
  readonly value: bigint
  /** Call data, or init code of a creation. Example: `"0xa9059cbb"` */
  readonly data?: string
  /** Gas limit. If absent, it is estimated. Example: `21000` */
  readonly gas_limit?: bigint
  /**
   * Gas price of a legacy transaction, in wei. It cannot be combined with the other fees or `speed`. Example:
   * `"30000000000"`
   */
  readonly gas_price?: bigint
  /** Highest total fee in wei per gas (EIP-1559). Example: `"40000000000"` */
  readonly max_fee_per_gas?: bigint
  /** Highest priority fee in wei per gas (EIP-1559). Example: `"1000000000"` */
  readonly max_priority_fee_per_gas?: bigint
  /** How soon it should be mined, if no fees are given. The default is `fast`. Example: `"fast"` */
  readonly speed?: Speed
  /** Deadline. If absent, the former one stays. Example: `"2026-11-22T18:00:00.000Z"` */
  readonly valid_until?: DateTime.Utc
  /** Whether it waits for funds until its deadline. If absent, this stays as it was. Example: `true` */
  readonly wait_for_funds?: boolean
  /**
   * Whether the call is estimated before it is sent. The default is true if `gas_limit` is absent. Example:
   * `false`
   */
  readonly simulate?: boolean
}

export interface ReplaceGoogleCloudKmsCredentialsRequest {
  /** Where the key is stored. Example: `"google_cloud_kms"` */
  readonly type: "google_cloud_kms"
  /** Where the key is in Google Cloud KMS, and the credentials to use it. */
  readonly config: {
    /**
     * The service account, with the fields of its key file. If absent, the service logs in as its environment
     * provides (Application Default Credentials), for which the package google-auth-library must be installed.
     */
    readonly service_account?: {
      /** Project of the service account. Example: `"my-project"` */
      readonly project_id: string
      /** Unique id of the service account. Example: `"103249887654321098765"` */
      readonly client_id: string
      /** The service stores this URL and never calls it. Example: `"https://accounts.google.com/o/oauth2/auth"` */
      readonly auth_uri: string
      /** The service stores this URL and never calls it. Example: `"https://oauth2.googleapis.com/token"` */
      readonly token_uri: string
      /** The service stores this URL and never calls it. Example: `"https://www.googleapis.com/oauth2/v1/certs"` */
      readonly auth_provider_x509_cert_url: string
      /**
       * The service stores this URL and never calls it. Example:
       * `"https://www.googleapis.com/robot/v1/metadata/x509/relayer"`
       */
      readonly client_x509_cert_url: string
      /** The universe of the service account, which has one value. Example: `"googleapis.com"` */
      readonly universe_domain: "googleapis.com"
      /**
       * RSA private key in PEM. Example: `"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq...\n-----END PRIVATE
       * KEY-----\n"`
       */
      readonly private_key: Redacted.Redacted<string>
      /** Id of the private key. Example: `"8f3d2c1b0a998877665544332211ffeeddccbbaa"` */
      readonly private_key_id: Redacted.Redacted<string>
      /** Name of the service account. Example: `"relayer@my-project.iam.gserviceaccount.com"` */
      readonly client_email: Redacted.Redacted<string>
    }
    /** The version of the key. */
    readonly key: {
      /** Location of the key ring. Example: `"europe-west3"` */
      readonly location: string
      /** Name of the key ring. Example: `"relayers"` */
      readonly key_ring_id: string
      /** Name of the key. Example: `"hot-1"` */
      readonly key_id: string
      /** Version of the key. Example: `1` */
      readonly key_version: number
      /**
       * Project of the key. If absent, the project of the service account; without one it is required. An addition to
       * the common wire format. Example: `"my-project"`
       */
      readonly project_id?: string
    }
  }
}

export interface ReplacePkcs11CredentialsRequest {
  /** Where the key is stored. Example: `"pkcs11"` */
  readonly type: "pkcs11"
  /** Where the key is in a token of PKCS#11, and the PIN to use it. An addition to the common wire format. */
  readonly config: {
    /** Name of the module, as PKCS11_MODULES of the service defines it. Example: `"hsm"` */
    readonly module: string
    /** Label of the token. Example: `"relayer"` */
    readonly token_label: string
    /** Serial number of the token. It is needed if several tokens have this label. Example: `"bddb53699fe07764"` */
    readonly token_serial?: string
    /**
     * Label (CKA_LABEL) of the private key. `key_label` or `key_id` is required; together they have to name exactly
     * one key. Example: `"hot-1"`
     */
    readonly key_label?: string
    /** Id (CKA_ID) of the key in hex. Example: `"01"` */
    readonly key_id?: string
    /** PIN of the user of the token. Example: `"1234"` */
    readonly pin: Redacted.Redacted<string>
  }
}

/** The type and the configuration of a signer, with the login that it is to use from now on. */
export type ReplaceSignerCredentialsRequest = 
  | ReplaceVaultCredentialsRequest
  | ReplaceVaultTransitCredentialsRequest
  | ReplacePkcs11CredentialsRequest
  | ReplaceGoogleCloudKmsCredentialsRequest
  | ReplaceAzureKeyVaultCredentialsRequest
  | ReplaceTurnkeyCredentialsRequest

/** What a transaction does instead. */
export interface ReplaceSolanaTransactionRequest {
  /**
   * A prebuilt transaction, legacy, version 0 or version 1, as base64 or as an array of bytes. Exactly one of
   * `transaction` and `instructions` is required. Example: `"AQAAAA=="`
   */
  readonly transaction?: string | ReadonlyArray<number>
  /**
   * Instructions that the service builds, prices and signs. Example:
   * `[{"program_id":"MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr","accounts":[],"data":"aGVsbG8="}]`
   */
  readonly instructions?: ReadonlyArray<SolanaInstructionSpec>
  /**
   * Deadline: no new bytes are signed after it. Bytes that exist then may still land until their blockhash dies.
   * If absent, 30 minutes; at most 7 days. Example: `"2026-11-22T18:00:00.000Z"`
   */
  readonly valid_until?: DateTime.Utc
  /**
   * Whether it waits for funds until its deadline. The default is false: it fails after ten minutes. An addition
   * to the common wire format. Example: `true`
   */
  readonly wait_for_funds?: boolean
  /**
   * Whether it is simulated before it is signed. The default is true. It must be true if the relayer spends. An
   * addition to the common wire format. Example: `false`
   */
  readonly simulate?: boolean
  /**
   * Percentile of recent prices that it offers. The default is `fast`. Only with `instructions`. An addition to
   * the common wire format. Example: `"fast"`
   */
  readonly speed?: Speed
  /**
   * Compute units at most. If absent, by simulation. Only with `instructions`. An addition to the common wire
   * format. Example: `20000`
   */
  readonly compute_unit_limit?: number
  /**
   * Micro-lamports per compute unit. If absent, by `speed`. Only with `instructions`. An addition to the common
   * wire format. Example: `1000`
   */
  readonly compute_unit_price?: bigint
  /**
   * Highest fee in lamports. The lower one of this and the relayer's policy counts. An addition to the common wire
   * format. Example: `"100000"`
   */
  readonly max_fee_lamports?: bigint
  /**
   * Lookup tables with which a message of version 0 is built. Only with `instructions`. An addition to the common
   * wire format. Example: `["MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"]`
   */
  readonly address_lookup_tables?: ReadonlyArray<string>
  /**
   * Version of the message that is built. Version 1 has up to 4096 bytes, at most 64 accounts and no lookup
   * tables, and needs nodes that take it. If absent, the legacy form, or version 0 with `address_lookup_tables`.
   * Only with `instructions`. An addition to the common wire format. Example: `1`
   */
  readonly version?: 1
  /**
   * Whether the blockhash of a prebuilt transaction may be exchanged. The default is true. An addition to the
   * common wire format. Example: `false`
   */
  readonly refresh?: boolean
}

/** What a transaction does instead. */
export interface ReplaceStellarTransactionRequest {
  /** Network of the relayer. Example: `"testnet"` */
  readonly network: string
  /**
   * The relayer's address, or the source of the envelope. Example:
   * `"GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"`
   */
  readonly source_account?: string
  /** 1 to 100 operations, instead of `transaction_xdr`. */
  readonly operations?: ReadonlyArray<StellarOperation>
  /**
   * An envelope in base64, instead of `operations`: unsigned, or signed by its source with `fee_bump`. Example:
   * `"AAAAAgAA"`
   */
  readonly transaction_xdr?: string
  /** Memo, with `operations` only. */
  readonly memo?: StellarMemo
  /** Deadline. If absent, two minutes; at most 7 days. Example: `"2026-11-22T18:00:00.000Z"` */
  readonly valid_until?: DateTime.Utc
  /** Whether the relayer pays for an envelope that its source has signed. Example: `true` */
  readonly fee_bump?: boolean
  /** Stroops that an envelope may cost in all. Example: `"1000000"` */
  readonly max_fee?: bigint
  /**
   * The `user_auth_entry` that the service has built for a user, signed by the user, in base64. It is sent with
   * the `transaction_xdr` of the same build. Example: `"AAAAAA=="`
   */
  readonly signed_auth_entry?: string
  /**
   * Whether it waits for funds until its deadline. The default is false: it fails after ten minutes without them.
   * Example: `true`
   */
  readonly wait_for_funds?: boolean
  /**
   * Whether the relayer pays to restore archived entries that the call needs. The default is false. Example:
   * `true`
   */
  readonly restore_footprint?: boolean
}

/** What a transaction does instead, as the network type of the relayer has it. */
export type ReplaceTransactionRequest = ReplaceEvmTransactionRequest | ReplaceSolanaTransactionRequest | ReplaceStellarTransactionRequest

export interface ReplaceTurnkeyCredentialsRequest {
  /** Where the key is stored. Example: `"turnkey"` */
  readonly type: "turnkey"
  /** Where the key is in Turnkey, and the API key that uses it. */
  readonly config: {
    /**
     * Public key of the API key, in hex. Example:
     * `"02f739f8c77b32f4d5f13265861febd76e7a9c61a1140d296b8c16302508870316"`
     */
    readonly api_public_key: string
    /** The organization. Example: `"2a1f3c7e-1111-4222-8333-444455556666"` */
    readonly organization_id: string
    /** Id of the private key, or the address of a wallet account. Example: `"6b8b4d1e-5555-4666-8777-888899990000"` */
    readonly private_key_id: string
    /**
     * Public key in hex: 65 or 33 bytes on secp256k1, 32 bytes on ed25519. A probe checks it. Example:
     * `"04c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee51ae168fea63dc339a3c58419466ceaeef7f632653266d0e1236431a950cfe52a"`
     */
    readonly public_key: string
    /**
     * Private key of the API key, in hex. Example:
     * `"487f361ddfd73440e707f4daa6775b376859e8a3c9f29b3bb694a12927c0213c"`
     */
    readonly api_private_key: Redacted.Redacted<string>
  }
}

export interface ReplaceVaultCredentialsRequest {
  /** Where the key is stored. Example: `"vault"` */
  readonly type: "vault"
  /** Where the key is in Vault, and the credentials to read it. */
  readonly config: {
    /** URL of Vault. It may have a path if Vault is behind a proxy. Example: `"https://vault.example.com"` */
    readonly address: string
    /** Namespace in Vault Enterprise. Example: `"team-a"` */
    readonly namespace?: string
    /** Role id of an AppRole. Example: `"59d6d1ca-47bb-4e7e-a40b-8be3bc5a0ba8"` */
    readonly role_id: Redacted.Redacted<string>
    /** Secret id of the AppRole. Example: `"84896a0c-1347-aa90-a4f6-aca8b7558780"` */
    readonly secret_id: Redacted.Redacted<string>
    /** Path of the secret in the key-value store. Example: `"relayer/hot-1"` */
    readonly key_name: string
    /** Mount point of the engine. The default is secret. Example: `"secret"` */
    readonly mount_point: string
  }
}

export interface ReplaceVaultTransitCredentialsRequest {
  /** Where the key is stored. Example: `"vault_transit"` */
  readonly type: "vault_transit"
  /** Where the key is in Vault, and the credentials to use it. */
  readonly config: {
    /** URL of Vault. It may have a path if Vault is behind a proxy. Example: `"https://vault.example.com"` */
    readonly address: string
    /** Namespace in Vault Enterprise. Example: `"team-a"` */
    readonly namespace?: string
    /** Role id of an AppRole. Example: `"59d6d1ca-47bb-4e7e-a40b-8be3bc5a0ba8"` */
    readonly role_id: Redacted.Redacted<string>
    /** Secret id of the AppRole. Example: `"84896a0c-1347-aa90-a4f6-aca8b7558780"` */
    readonly secret_id: Redacted.Redacted<string>
    /** Name of the key in the transit engine. Example: `"hot-1"` */
    readonly key_name: string
    /** Mount point of the engine. The default is transit. Example: `"transit"` */
    readonly mount_point: string
    /** The ed25519 public key: 32 bytes as base64. Example: `"11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="` */
    readonly pubkey: string
  }
}

export interface ReplayDeliveriesRequest {
  /** Events from this moment on. Example: `"2026-01-01T00:00:00Z"` */
  readonly since: DateTime.Utc
  /** Events before this moment. Example: `"2026-01-02T00:00:00Z"` */
  readonly until: DateTime.Utc
  /** Only deliveries in this state. If absent, both. Example: `"failed"` */
  readonly state?: "delivered" | "failed"
  /** Whether to count the deliveries only. Nothing is sent, and the audit log has no record. Example: `true` */
  readonly dry_run?: boolean
}

/** The result of a replay. */
export interface ReplayedDeliveries {
  /** Deliveries that are sent again. With `dry_run`, those that would be. Example: `3` */
  readonly replayed: number
}

export interface ReplayedDeliveriesResponse extends ResponseEnvelope {
  /** The result of a replay. */
  readonly data: ReplayedDeliveries
}

/** What all successful responses have around their data. */
export interface ResponseEnvelope {
  /** Whether the request succeeded. Example: `true` */
  readonly success: true
  /**
   * Log messages and spans of this request. Present if it was sent with `X-Relayer-Debug: true`, or if there are
   * warnings: `row_unreadable` names a row that is missing in a list because the service cannot read it, and a
   * create with `check` says what is wrong with providers and account.
   */
  readonly metadata?: Metadata
}

/** What an operator decides about the nonces of an account. */
export interface ResyncNonceRequest {
  /** Whether such transactions are sent or end as `failed`. Example: `"give_up"` */
  readonly answer?: "send" | "give_up"
  /** Only this transaction. If absent, all of the account. Example: `"4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"` */
  readonly transaction_id?: string & Brand.Brand<"TransactionId">
}

/** The result of a revocation. */
export interface RevokedApiKeys {
  /** The revoked keys. Example: `["0b9f5a52-5c1e-4f0c-9a43-8f0c3f9b2d11"]` */
  readonly revoked: ReadonlyArray<string & Brand.Brand<"ApiKeyId">>
  /** Keys that a revoked key has created, directly or through others, and that are still valid. Example: `[]` */
  readonly remaining: ReadonlyArray<string & Brand.Brand<"ApiKeyId">>
}

export interface RevokedApiKeysResponse extends ResponseEnvelope {
  /** The result of a revocation. */
  readonly data: RevokedApiKeys
}

export interface RotateApiKeyRequest {
  /** Seconds for which the previous key stays valid, at most 30 days. The default is one day. Example: `3600` */
  readonly overlap_seconds?: number
}

/** A provider of a chain, with its URL masked. */
export interface RpcConfig {
  /** URL of the provider, without path, query and credentials. Example: `"https://rpc.example.com/***"` */
  readonly url: string
  /** Share of the calls, relative to the other URLs. A URL with weight 0 is never called. Example: `100` */
  readonly weight: number
}

/** A provider of a chain. */
export interface RpcConfigRequest {
  /**
   * URL of the provider. It is encrypted at rest and returned masked. Example:
   * `"https://rpc.example.com/v1/my-key"`
   */
  readonly url: string
  /**
   * Share of the calls, relative to the other URLs. A URL with weight 0 is never called. The default is 100.
   * Example: `100`
   */
  readonly weight: number
}

/**
 * A scope, all scopes of a resource such as `relayers:*`, or all scopes (`*`). `relayers:write` and
 * `networks:write` decide about prices, receivers and which providers are believed: give them only to who may
 * spend.
 */
export type Scope = 
  | "relayers:read"
  | "relayers:write"
  | "signers:read"
  | "signers:write"
  | "notifications:read"
  | "notifications:write"
  | "networks:read"
  | "networks:write"
  | "api-keys:read"
  | "api-keys:write"
  | "audit:read"
  | "audit:write"
  | "master-key:write"
  | "events:read"
  | "transactions:read"
  | "transactions:write"
  | "transactions:sign"
  | "rpc:call"
  | "relayers:*"
  | "signers:*"
  | "notifications:*"
  | "networks:*"
  | "api-keys:*"
  | "audit:*"
  | "master-key:*"
  | "events:*"
  | "transactions:*"
  | "*"

/** The address of the key on each network type of its curve. */
export interface Secp256k1SignerAddresses {
  /** Hex in lower case. Example: `"0x2c7536e3605d9c16a7a3d7b1898e529396a65c23"` */
  readonly evm: string
}

/** Transactions that are accepted together. */
export interface SendEvmTransactionBatchRequest {
  /**
   * Transactions in the order of their acceptance. Example:
   * `[{"to":"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed","value":"1"}]`
   */
  readonly transactions: ReadonlyArray<SendEvmTransactionRequest>
}

/** A transaction to send. */
export interface SendEvmTransactionRequest {
  /**
   * Receiver, or contract that is called. If absent, `data` creates a contract. Example:
   * `"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"`
   */
  readonly to?: string
  /** Wei that is sent. The default is 0. Example: `"1000000000000000"` */
  readonly value: bigint
  /** Call data, or init code of a creation. Example: `"0xa9059cbb"` */
  readonly data?: string
  /** Gas limit. If absent, it is estimated. Example: `21000` */
  readonly gas_limit?: bigint
  /**
   * Gas price of a legacy transaction, in wei. It cannot be combined with the other fees or `speed`. Example:
   * `"30000000000"`
   */
  readonly gas_price?: bigint
  /** Highest total fee in wei per gas (EIP-1559). Example: `"40000000000"` */
  readonly max_fee_per_gas?: bigint
  /** Highest priority fee in wei per gas (EIP-1559). Example: `"1000000000"` */
  readonly max_priority_fee_per_gas?: bigint
  /** How soon it should be mined, if no fees are given. The default is `fast`. Example: `"fast"` */
  readonly speed?: Speed
  /** Deadline. If absent, 8 hours; at most 7 days. Example: `"2026-11-22T18:00:00.000Z"` */
  readonly valid_until?: DateTime.Utc
  /** Moment before which the transaction gets no nonce. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly not_before?: DateTime.Utc
  /** Nonce that the transaction must have: with another one it is never executed. Example: `7` */
  readonly nonce?: number
  /** The caller's identifier, unique per relayer. Example: `"order-1234"` */
  readonly external_id?: string
  /** Order among the relayer's transactions. The default is 0. Example: `1` */
  readonly priority?: -1 | 0 | 1
  /**
   * Whether it waits for funds until its deadline. The default is false: it fails after ten minutes without them.
   * Example: `true`
   */
  readonly wait_for_funds?: boolean
  /**
   * Whether the call is estimated before it is sent. The default is true if `gas_limit` is absent. Example:
   * `false`
   */
  readonly simulate?: boolean
}

/** Transactions that are accepted together. */
export interface SendSolanaTransactionBatchRequest {
  /** Transactions in the order of their acceptance. Example: `[{"transaction":"AQAAAA=="}]` */
  readonly transactions: ReadonlyArray<SendSolanaTransactionRequest>
}

/** A transaction to send. */
export interface SendSolanaTransactionRequest {
  /**
   * A prebuilt transaction, legacy, version 0 or version 1, as base64 or as an array of bytes. Exactly one of
   * `transaction` and `instructions` is required. Example: `"AQAAAA=="`
   */
  readonly transaction?: string | ReadonlyArray<number>
  /**
   * Instructions that the service builds, prices and signs. Example:
   * `[{"program_id":"MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr","accounts":[],"data":"aGVsbG8="}]`
   */
  readonly instructions?: ReadonlyArray<SolanaInstructionSpec>
  /**
   * Deadline: no new bytes are signed after it. Bytes that exist then may still land until their blockhash dies.
   * If absent, 30 minutes; at most 7 days. Example: `"2026-11-22T18:00:00.000Z"`
   */
  readonly valid_until?: DateTime.Utc
  /**
   * Moment before which nothing is signed. An addition to the common wire format. Example:
   * `"2026-11-22T12:00:00.000Z"`
   */
  readonly not_before?: DateTime.Utc
  /** The caller's identifier, unique per relayer. An addition to the common wire format. Example: `"order-1234"` */
  readonly external_id?: string
  /**
   * Order in which transactions of the relayer are signed. The default is 0. An addition to the common wire
   * format. Example: `1`
   */
  readonly priority?: -1 | 0 | 1
  /**
   * Whether it waits for funds until its deadline. The default is false: it fails after ten minutes. An addition
   * to the common wire format. Example: `true`
   */
  readonly wait_for_funds?: boolean
  /**
   * Whether it is simulated before it is signed. The default is true. It must be true if the relayer spends. An
   * addition to the common wire format. Example: `false`
   */
  readonly simulate?: boolean
  /**
   * Percentile of recent prices that it offers. The default is `fast`. Only with `instructions`. An addition to
   * the common wire format. Example: `"fast"`
   */
  readonly speed?: Speed
  /**
   * Compute units at most. If absent, by simulation. Only with `instructions`. An addition to the common wire
   * format. Example: `20000`
   */
  readonly compute_unit_limit?: number
  /**
   * Micro-lamports per compute unit. If absent, by `speed`. Only with `instructions`. An addition to the common
   * wire format. Example: `1000`
   */
  readonly compute_unit_price?: bigint
  /**
   * Highest fee in lamports. The lower one of this and the relayer's policy counts. An addition to the common wire
   * format. Example: `"100000"`
   */
  readonly max_fee_lamports?: bigint
  /**
   * Lookup tables with which a message of version 0 is built. Only with `instructions`. An addition to the common
   * wire format. Example: `["MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"]`
   */
  readonly address_lookup_tables?: ReadonlyArray<string>
  /**
   * Version of the message that is built. Version 1 has up to 4096 bytes, at most 64 accounts and no lookup
   * tables, and needs nodes that take it. If absent, the legacy form, or version 0 with `address_lookup_tables`.
   * Only with `instructions`. An addition to the common wire format. Example: `1`
   */
  readonly version?: 1
  /**
   * Whether the blockhash of a prebuilt transaction may be exchanged. The default is true. An addition to the
   * common wire format. Example: `false`
   */
  readonly refresh?: boolean
}

/** Transactions that are accepted together. */
export interface SendStellarTransactionBatchRequest {
  /** Transactions in the order of their acceptance. Example: `[{"network":"testnet","transaction_xdr":"AAAAAgAA"}]` */
  readonly transactions: ReadonlyArray<SendStellarTransactionRequest>
}

/** A transaction to send. */
export interface SendStellarTransactionRequest {
  /** Network of the relayer. Example: `"testnet"` */
  readonly network: string
  /**
   * The relayer's address, or the source of the envelope. Example:
   * `"GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"`
   */
  readonly source_account?: string
  /** 1 to 100 operations, instead of `transaction_xdr`. */
  readonly operations?: ReadonlyArray<StellarOperation>
  /**
   * An envelope in base64, instead of `operations`: unsigned, or signed by its source with `fee_bump`. Example:
   * `"AAAAAgAA"`
   */
  readonly transaction_xdr?: string
  /** Memo, with `operations` only. */
  readonly memo?: StellarMemo
  /** Deadline. If absent, two minutes; at most 7 days. Example: `"2026-11-22T18:00:00.000Z"` */
  readonly valid_until?: DateTime.Utc
  /** Whether the relayer pays for an envelope that its source has signed. Example: `true` */
  readonly fee_bump?: boolean
  /** Stroops that an envelope may cost in all. Example: `"1000000"` */
  readonly max_fee?: bigint
  /**
   * The `user_auth_entry` that the service has built for a user, signed by the user, in base64. It is sent with
   * the `transaction_xdr` of the same build. Example: `"AAAAAA=="`
   */
  readonly signed_auth_entry?: string
  /** The caller's identifier, unique per relayer. Example: `"order-1234"` */
  readonly external_id?: string
  /** Moment before which nothing is signed. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly not_before?: DateTime.Utc
  /** Order among the relayer's transactions. The default is 0. Example: `1` */
  readonly priority?: -1 | 0 | 1
  /**
   * Whether it waits for funds until its deadline. The default is false: it fails after ten minutes without them.
   * Example: `true`
   */
  readonly wait_for_funds?: boolean
  /**
   * Whether the relayer pays to restore archived entries that the call needs. The default is false. Example:
   * `true`
   */
  readonly restore_footprint?: boolean
  /**
   * Sequence that the transaction must have: with another one it is never executed. Example:
   * `"257698037760000001"`
   */
  readonly sequence?: bigint
}

/** Transactions that are accepted together. */
export type SendTransactionBatchRequest = SendEvmTransactionBatchRequest | SendSolanaTransactionBatchRequest | SendStellarTransactionBatchRequest

/** A transaction to send, as the network type of the relayer has it. */
export type SendTransactionRequest = SendEvmTransactionRequest | SendSolanaTransactionRequest | SendStellarTransactionRequest

/** What the service has recorded next to what the chain says, as the network type of the relayer has it. */
export type ShownSequences = NonceState | StellarNonceState | SolanaLaneState

export interface ShownSequencesResponse extends ResponseEnvelope {
  /** What the service has recorded next to what the chain says, as the network type of the relayer has it. */
  readonly data: ShownSequences
}

/** A message to sign (EIP-191). */
export interface SignMessageRequest {
  /**
   * Text whose UTF-8 bytes are signed with the prefix of EIP-191, so that the signature is never one of a
   * transaction. Hex is not decoded. Example: `"Sign in to example.com"`
   */
  readonly message: string
}

/** A transaction to sign without sending it. */
export interface SignSolanaTransactionRequest {
  /**
   * A transaction, legacy, version 0 or version 1, whose fee payer is the relayer, as base64 or as an array of
   * bytes. Example: `"AQAAAA=="`
   */
  readonly transaction: string | ReadonlyArray<number>
}

/** An envelope to sign without sending it. */
export interface SignStellarTransactionRequest {
  /**
   * An envelope in base64 whose source is the relayer, without signatures. Its `maxTime` is at most 300 seconds
   * ahead. Example: `"AAAAAgAAAAA="`
   */
  readonly unsigned_xdr: string
}

/** A transaction to sign without sending it, as the network type of the relayer has it. */
export type SignTransactionRequest = SignSolanaTransactionRequest | SignStellarTransactionRequest

/** The two hashes of typed data. */
export interface SignTypedDataHashesRequest {
  /** Hash of the domain. Example: `"0x5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c"` */
  readonly domain_separator: string
  /** Hash of the message. Example: `"0x6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d"` */
  readonly hash_struct_message: string
}

/** Typed data as `eth_signTypedData_v4` takes it. */
export interface SignTypedDataJsonRequest {
  /**
   * Domain that the data belongs to. Example:
   * `{"name":"Example","version":"1","chainId":1,"verifyingContract":"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"}`
   */
  readonly domain: TypedDataDomain
  /** Members of each type. Example: `{"Permit":[{"name":"owner","type":"address"}]}` */
  readonly types: { readonly [key: string]: ReadonlyArray<TypedDataMember> }
  /** Type of the message. Example: `"Permit"` */
  readonly primaryType: string
  /** The data. Example: `{"owner":"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"}` */
  readonly message: { readonly [key: string]: unknown }
}

/** Typed data to sign (EIP-712): its two hashes, or all of it. */
export type SignTypedDataRequest = SignTypedDataHashesRequest | SignTypedDataJsonRequest

/** A transaction that the relayer signed. */
export interface SignedSolanaTransaction {
  /** The transaction with the relayer's signature, as base64. Example: `"AQAAAA=="` */
  readonly transaction: string
  /**
   * The relayer's signature. Example:
   * `"5555555555555555555555555555555555555555555555555555555555555555555555555555555555555555"`
   */
  readonly signature: string
}

/** An envelope that the relayer signed. */
export interface SignedStellarTransaction {
  /** The envelope with the relayer's signature, in base64. Example: `"AAAAAgAAAAA="` */
  readonly signedXdr: string
  /**
   * The 64 bytes of the relayer's signature, in base64. Example:
   * `"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="`
   */
  readonly signature: string
}

/** A signed transaction, as the network type of the relayer has it. */
export type SignedTransaction = SignedSolanaTransaction | SignedStellarTransaction

export interface SignedTransactionResponse extends ResponseEnvelope {
  /** A signed transaction, as the network type of the relayer has it. */
  readonly data: SignedTransaction
}

/** A private key, or a reference to one, that relayers sign with. */
export type Signer = 
  | PlainSigner
  | LocalSigner
  | VaultSigner
  | VaultTransitSigner
  | Pkcs11Signer
  | AwsKmsSigner
  | GoogleCloudKmsSigner
  | AzureKeyVaultSigner
  | TurnkeySigner

/** The address of the key on each network type. */
export interface SignerAddresses {
  /** Hex in lower case. Example: `"0x2c7536e3605d9c16a7a3d7b1898e529396a65c23"` */
  readonly evm: string
  /** Base58. Example: `"7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV"` */
  readonly solana: string
  /** StrKey. Example: `"GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"` */
  readonly stellar: string
}

/** The addresses of the key on the network types of its curve. */
export type SignerAddressesOfCurve = Secp256k1SignerAddresses | Ed25519SignerAddresses

/** Why the service no longer signs with the key. A successful verification enables the signer again. */
export interface SignerDisabledReason {
  /**
   * `key_mismatch`: the key service has a key, or signed with a key, that does not match `public_key`. Example:
   * `"key_mismatch"`
   */
  readonly code: "key_mismatch"
  /** What the service detected. Example: `"the key with this `public_key` did not make the signature"` */
  readonly message: string
  /** When the service detected it. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly at: DateTime.Utc
}

export interface SignerPageResponse extends ResponseEnvelope {
  /** The items of this page. */
  readonly data: ReadonlyArray<Signer>
  /** The page that was served and the number of all items. */
  readonly pagination: Pagination
}

export interface SignerResponse extends ResponseEnvelope {
  /** A private key, or a reference to one, that relayers sign with. */
  readonly data: Signer
}

/** The result of a verification. */
export interface SignerVerification {
  /** Identifier of the signer. Example: `"hot-1"` */
  readonly id: string & Brand.Brand<"SignerId">
  /** Whether no step has failed. Example: `true` */
  readonly verified: boolean
  /** The steps in order, for each curve. */
  readonly steps: ReadonlyArray<SignerVerificationStep>
}

export interface SignerVerificationResponse extends ResponseEnvelope {
  /** The result of a verification. */
  readonly data: SignerVerification
}

/** One step of a verification. */
export interface SignerVerificationStep {
  /** Curve of a signature: secp256k1 for evm, ed25519 for solana and stellar. Example: `"secp256k1"` */
  readonly curve: Curve
  /** What was tested. `key_state` is tested if the key stays in Vault or in a key service. Example: `"sign"` */
  readonly step: "key_state" | "public_key" | "sign" | "verify"
  /**
   * `warning`: the step succeeded, but `message` needs attention. `skipped`: an earlier step of the curve has
   * failed. Example: `"ok"`
   */
  readonly status: "ok" | "warning" | "failed" | "skipped"
  /** Why the step has failed, what the warning is, or the state of the key. Example: `"Vault does not answer"` */
  readonly message?: string
}

/** Price that a transaction would offer now, and its highest cost. */
export interface SimulatedPrice {
  /** Gas price of a legacy transaction, in wei. Example: `"30000000000"` */
  readonly gas_price?: bigint
  /** Highest total fee in wei per gas. Example: `"40000000000"` */
  readonly max_fee_per_gas?: bigint
  /** Highest priority fee in wei per gas. Example: `"1000000000"` */
  readonly max_priority_fee_per_gas?: bigint
  /** Most wei that value, gas, data and operator fee can cost at this price. Example: `"1000840000000000000"` */
  readonly max_cost: bigint
}

/** Per speed, within the relayer's cap. */
export interface SimulatedPrices {
  /** At the speed `safeLow`. */
  readonly safeLow: SimulatedPrice
  /** At the speed `average`. */
  readonly average: SimulatedPrice
  /** At the speed `fast`. */
  readonly fast: SimulatedPrice
  /** At the speed `fastest`. */
  readonly fastest: SimulatedPrice
}

/** What a send would do and cost now, as the network type of the relayer has it. */
export type SimulatedTransaction = TransactionSimulation | SolanaSimulation | StellarSimulation

export interface SimulatedTransactionResponse extends ResponseEnvelope {
  /** What a send would do and cost now, as the network type of the relayer has it. */
  readonly data: SimulatedTransaction
}

/** Why the transaction would be refused, held or fail. */
export interface SimulationProblem {
  /** Field of the request, or `balance`. Example: `"to"` */
  readonly field: string
  /** What is wrong with it. Example: `"is not in whitelist_receivers of the relayer's policy"` */
  readonly message: string
}

/** An account of an instruction. */
export interface SolanaAccountMeta {
  /** Address of the account. Example: `"9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"` */
  readonly pubkey: string
  /** Whether it signs. Only the relayer can. Example: `false` */
  readonly is_signer: boolean
  /** Whether the instruction may write it. Example: `true` */
  readonly is_writable: boolean
}

/** Fee in lamports per speed, within the cap. */
export interface SolanaFees {
  /** At the speed `safeLow`. Example: `"5000"` */
  readonly safeLow: bigint
  /** At the speed `average`. Example: `"5010"` */
  readonly average: bigint
  /** At the speed `fast`. Example: `"5020"` */
  readonly fast: bigint
  /** At the speed `fastest`. Example: `"5100"` */
  readonly fastest: bigint
}

/** An instruction. */
export interface SolanaInstructionSpec {
  /** Address of the program. Example: `"MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"` */
  readonly program_id: string
  /** Accounts in the order that the program expects. Example: `[]` */
  readonly accounts: ReadonlyArray<SolanaAccountMeta>
  /** Data as base64. Example: `"aGVsbG8="` */
  readonly data: string
}

/** Open transactions of an account of solana. */
export interface SolanaLaneState {
  /** Account. Example: `"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"` */
  readonly address: string
  /** How often an operator declared that the test network was restarted. Example: `1` */
  readonly generation: number
  /** Open transactions of the account without a signature. Example: `3` */
  readonly pending: number
  /** Open transactions of the account with a signature. Example: `0` */
  readonly in_flight: number
  /** Transactions that may be in flight at once. Example: `64` */
  readonly signature_window?: number
  /** Why the service signs nothing for the account. Example: `"chain_changed"` */
  readonly code?: TransactionCode
  /** Since when. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly code_since?: DateTime.Utc
}

export interface SolanaNetwork {
  /** Identifier of the network: its type and its name. Example: `"evm:sepolia"` */
  readonly id: string & Brand.Brand<"NetworkId">
  /** Name of the network, unique for its type. Example: `"sepolia"` */
  readonly name: string & Brand.Brand<"NetworkName">
  /** Network of the same type that this one inherits from. Example: `"sepolia"` */
  readonly from?: string & Brand.Brand<"NetworkName">
  /**
   * `builtin`: part of the service. `overridden`: built-in, with changed fields. `own`: created by a request.
   * Example: `"builtin"`
   */
  readonly source: "builtin" | "overridden" | "own"
  /** Providers of the chain, with masked URLs. */
  readonly rpc_urls: ReadonlyArray<RpcConfig>
  /** Block explorers, for people. Example: `["https://sepolia.etherscan.io"]` */
  readonly explorer_urls?: ReadonlyArray<string>
  /** Milliseconds between two blocks, on average. Example: `12000` */
  readonly average_blocktime_ms: number
  /** Whether the network is a testnet. Example: `true` */
  readonly is_testnet: boolean
  /** Labels, for people. Example: `["staging"]` */
  readonly tags?: ReadonlyArray<string>
  /**
   * How long no second RPC URL has an opinion about a transaction before the one that is left decides alone that
   * it is final: a number of minutes, hours or days, or `never`. The default is `1h`. With two RPC URLs, a
   * duration is safe if one of them lies or one of them is silent, but not both. Example: `"1h"`
   */
  readonly finality_by_one?: string
  /**
   * The configuration that owns the resource: its next apply reverts other changes. Absent while no configuration
   * owns it. Example: `"payments"`
   */
  readonly managed_by?: string
  /** The family of chains. Example: `"solana"` */
  readonly network_type: "solana"
  /**
   * Transactions of one account that may be in flight at once. The default is 64, and 4 with `no-mempool`. At most
   * 10,000, and 1,000 on solana. Example: `64`
   */
  readonly transaction_window?: number
  /**
   * JSON-RPC methods that `POST /relayers/{relayer_id}/rpc` passes on. If absent, methods that only read. No list
   * lets it pass `sendTransaction` of stellar on. Example: `["eth_call","eth_getLogs"]`
   */
  readonly rpc_methods?: ReadonlyArray<string>
}

/** Limits of a solana relayer. */
export interface SolanaPolicy {
  /** Who pays the fees: the relayer, or the user in a token. The default is `user`. Example: `"relayer"` */
  readonly fee_payment_strategy?: "user" | "relayer"
  /** Lamports that must stay on the account. The default is 10000000. Example: `10000000` */
  readonly min_balance?: bigint
  /**
   * Largest transaction in bytes. The default is 1232, the size of a packet, and 4096 for version 1. Example:
   * `1232`
   */
  readonly max_tx_data_size?: number
  /** Most signatures of a transaction. Example: `8` */
  readonly max_signatures?: number
  /**
   * Programs that transactions may call. If absent, all programs are allowed. Example:
   * `["TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"]`
   */
  readonly allowed_programs?: ReadonlyArray<string>
  /**
   * Accounts that transactions may use. Excludes `disallowed_accounts`. Example:
   * `["9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"]`
   */
  readonly allowed_accounts?: ReadonlyArray<string>
  /**
   * Accounts that transactions must not use. Excludes `allowed_accounts`. Example:
   * `["9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"]`
   */
  readonly disallowed_accounts?: ReadonlyArray<string>
  /** Tokens that users may pay with. If absent or empty, none. */
  readonly allowed_tokens?: ReadonlyArray<{
    /** Mint of the token. Example: `"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"` */
    readonly mint: string
    /** Decimals of the token. Example: `6` */
    readonly decimals?: number
    /** Symbol of the token, for people. Example: `"USDC"` */
    readonly symbol?: string
    /** Highest fee in units of the token. Example: `1000000` */
    readonly max_allowed_fee?: bigint
    /** The price, if the price source is `fixed`. An addition to the common wire format. */
    readonly price?: TokenPrice
    /** Bounds of the price. If absent, there are none. An addition to the common wire format. */
    readonly price_bounds?: TokenPriceBounds
    /** When the relayer swaps the token for the native one. */
    readonly swap_config?: TokenSwap
  }>
  /** Percentage that is added to estimated fees. Example: `5` */
  readonly fee_margin_percentage?: number
  /** Highest fee of a transaction in lamports. The default is 1000000. Example: `100000` */
  readonly max_allowed_fee_lamports?: bigint
  /**
   * By how many percent a payment of a user may be too low, because the price moved. The default is 1. An addition
   * to the common wire format. Example: `1`
   */
  readonly slippage_percentage?: number
  /**
   * Where the prices of tokens come from. If absent, there is none, so no user can pay. An addition to the common
   * wire format.
   */
  readonly price_source?: PriceSource
  /**
   * Extensions of Token-2022 that fee tokens may have although the issuer of such a token can take back or reduce
   * a payment. If absent, none. An addition to the common wire format. Example: `["transfer_fee"]`
   */
  readonly allowed_extensions?: ReadonlyArray<
    | "transfer_fee"
    | "transfer_hook"
    | "permanent_delegate"
    | "confidential_transfer"
    | "pausable"
    | "default_account_state"
    | "non_transferable">
  /**
   * Where instructions may list the relayer: in requests of the form `instructions` (the default), nowhere, or in
   * prebuilt transactions as well, in the same shapes. `always` needs `authority_programs`. An addition to the
   * common wire format. Example: `"own_instructions"`
   */
  readonly fee_payer_as_authority?: "own_instructions" | "never" | "always"
  /**
   * Programs that get the relayer as a writable signer: they can do everything with its account. If absent, none.
   * An addition to the common wire format. Example: `["JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4"]`
   */
  readonly authority_programs?: ReadonlyArray<string>
  /**
   * Most lamports that one transaction may spend besides its fee. If absent, there is no limit. An addition to the
   * common wire format. Example: `1000000`
   */
  readonly max_lamports_out?: bigint
  /**
   * How the relayer swaps tokens for lamports. Only if the fee payment strategy is `user`. It is stored and not
   * executed.
   */
  readonly swap_config?: {
    /** How to swap. `noop` does not swap. Example: `"jupiter-swap"` */
    readonly strategy?: "jupiter-swap" | "jupiter-ultra" | "noop"
    /** When to swap: a cron schedule of 6 or 7 fields, seconds first. Example: `"0 0 *\/6 * * *"` */
    readonly cron_schedule?: string
    /** Lamports below which tokens are swapped. Example: `100000000` */
    readonly min_balance_threshold?: bigint
    /** Options of the strategy `jupiter-swap`. */
    readonly jupiter_swap_options?: {
      /** Highest priority fee in lamports. Example: `100000` */
      readonly priority_fee_max_lamports?: bigint
      /** Level of the priority fee. Example: `"medium"` */
      readonly priority_level?: "medium" | "high" | "veryHigh"
      /** Whether the compute unit limit is estimated. Example: `true` */
      readonly dynamic_compute_unit_limit?: boolean
    }
  }
}

/** What a transaction costs its user. */
export interface SolanaQuote {
  /** The fee in whole tokens. Example: `"0.00075"` */
  readonly estimated_fee: string
  /** Whole tokens that one SOL costs. Example: `"150"` */
  readonly conversion_rate: string
}

export interface SolanaRelayer {
  /** Identifier of the relayer. Example: `"payouts"` */
  readonly id: string & Brand.Brand<"RelayerId">
  /** Name of the relayer, for people. Example: `"Payouts"` */
  readonly name: string
  /** Name of the network, unique for its type. Example: `"sepolia"` */
  readonly network: string & Brand.Brand<"NetworkName">
  /** Address of the signer, as base58. Example: `"7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV"` */
  readonly address: string
  /** Whether the operator has paused the relayer. Example: `false` */
  readonly paused: boolean
  /** Whether the service has disabled the relayer. Example: `false` */
  readonly system_disabled: boolean
  /** Why the service has disabled the relayer. */
  readonly disabled_reason?: DisabledReason
  /** Identifier of the signer. Example: `"hot-1"` */
  readonly signer_id: string & Brand.Brand<"SignerId">
  /** Identifier of the notification. Example: `"ops"` */
  readonly notification_id?: string & Brand.Brand<"NotificationId">
  /** Providers of the relayer. If absent, it uses those of the network. */
  readonly custom_rpc_urls?: ReadonlyArray<RpcConfig>
  /** The family of chains. Example: `"solana"` */
  readonly network_type: "solana"
  /** Limits of a solana relayer. */
  readonly policies?: SolanaPolicy
  /**
   * The configuration that owns the resource: its next apply reverts other changes. Absent while no configuration
   * owns it. Example: `"payments"`
   */
  readonly managed_by?: string
  /** Its last check and its open transactions. Only in lists, with `include=health`. */
  readonly health?: RelayerHealthSummary
}

export interface SolanaRelayerStatus {
  /** The family of chains. Example: `"solana"` */
  readonly network_type: "solana"
  /** Balance in the chain's smallest unit. Absent if it was never read. Example: `"1000000000000000000"` */
  readonly balance?: bigint
  /**
   * True if balance, nonce and providers were read for this response. False if they are from `read_at` and from
   * the last check. Example: `true`
   */
  readonly live: boolean
  /** When the amounts were read. Absent if they never were. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly read_at?: DateTime.Utc
  /** Whether the operator has paused the relayer. Example: `false` */
  readonly paused: boolean
  /** Whether the service has disabled the relayer. Example: `false` */
  readonly system_disabled: boolean
  /** Why the service has disabled the relayer. */
  readonly disabled_reason?: DisabledReason
  /**
   * `unknown`: not checked yet. `degraded`: it works, but not with all providers. `failing`: checks have failed,
   * but too few to disable it. Example: `"healthy"`
   */
  readonly health: HealthStatus
  /** When the relayer was last checked. Absent before the first check. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly last_check_at?: DateTime.Utc
  /** When the relayer is checked next. Example: `"2026-01-02T03:05:05.678Z"` */
  readonly next_check_at: DateTime.Utc
  /** Transactions of the relayer that are not final. Example: `2` */
  readonly pending_transactions_count: number
  /** When its last transaction was confirmed. Absent if none was. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly last_confirmed_transaction_timestamp?: DateTime.Utc
  /** The providers, in the order of the RPC URLs. */
  readonly providers: ReadonlyArray<ProviderReading>
}

/** What a caller asked for, in one of its versions. */
export interface SolanaRequestVersion {
  /** Number of the version, from 1. Example: `1` */
  readonly version: number
  /** The prebuilt transaction as base64. Example: `"AQAAAA=="` */
  readonly transaction?: string
  /** The instructions. Example: `[]` */
  readonly instructions?: ReadonlyArray<SolanaInstructionSpec>
  /** Percentile of recent prices that it offers. Example: `"fast"` */
  readonly speed?: Speed
  /** Compute units at most. Example: `20000` */
  readonly compute_unit_limit?: number
  /** Micro-lamports per compute unit. Example: `"1000"` */
  readonly compute_unit_price?: bigint
  /** Highest fee in lamports. Example: `"100000"` */
  readonly max_fee_lamports?: bigint
}

/** What a send would do and cost now. */
export interface SolanaSimulation {
  /** Compute units that it uses now. Example: `18000` */
  readonly units_consumed?: number
  /** Compute units that the transaction would get. Example: `20100` */
  readonly compute_unit_limit?: number
  /**
   * Fee in lamports per speed, within the cap. All are equal if the request sets its price, or is prebuilt.
   * Example: `{"safeLow":"5000","average":"5010","fast":"5020","fastest":"5100"}`
   */
  readonly fees: SolanaFees
  /** Fee in lamports that the transaction would offer. Example: `"5020"` */
  readonly max_fee: bigint
  /** Lamports that the account has less after the simulation, the fee included. Example: `"1005020"` */
  readonly lamports_out?: bigint
  /** Lamports that the request declares to take from the account, besides the fee. Example: `"1000000"` */
  readonly out: bigint
  /**
   * Value in lamports that the request spends, wrapped SOL included. Limits of API keys and `max_lamports_out`
   * count it. Example: `"1000000"`
   */
  readonly spent: bigint
  /** Logs of the programs, at most 10 kB. Example: `["Program log: hello"]` */
  readonly logs: ReadonlyArray<string>
  /** Error of the simulation, as the chain has it. Example: `"{\"InstructionError\":[0,{\"Custom\":1}]}"` */
  readonly error?: string
  /** Codes of what keeps a send of this request from being accepted or signed now. Empty: nothing. Example: `[]` */
  readonly verdict: ReadonlyArray<string>
}

/** A signed version of the transaction. */
export interface SolanaTransactionAttempt {
  /**
   * Signature of the relayer, which names the attempt on the chain. Example:
   * `"5555555555555555555555555555555555555555555555555555555555555555555555555555555555555555"`
   */
  readonly signature: string
  /** Why it was signed. Example: `"refresh"` */
  readonly kind: "original" | "refresh"
  /** Blockhash of its bytes. Example: `"J2xccRtuG43drESLYznHhLhQkLTdfepcKYbiQ9BsJVaf"` */
  readonly blockhash: string
  /** Last block height at which its bytes can land. Example: `280000150` */
  readonly last_valid_block_height: number
  /** Compute units at most. Example: `20000` */
  readonly compute_unit_limit?: number
  /** Micro-lamports per compute unit. Example: `"1000"` */
  readonly compute_unit_price: bigint
  /** Highest fee in lamports. Example: `"5020"` */
  readonly max_fee: bigint
  /** Number of the attempt, from 1, in the order of signatures. Example: `1` */
  readonly ordinal?: number
  /** Version of the request that it carries, from 1. A replacement adds a version. Example: `1` */
  readonly request_version?: number
  /** When it was signed. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly signed_at: DateTime.Utc
  /** When it was first sent. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly sent_at?: DateTime.Utc
  /** How often it was sent to nodes. Example: `2` */
  readonly sends?: number
  /** When it was last sent. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly last_sent_at?: DateTime.Utc
  /** The newest answer of nodes. `unknown`: none has answered, so it may have left or not. Example: `"accepted"` */
  readonly outcome?: "unknown" | "accepted" | "refused"
  /** Why nodes refused it. Absent if none did. Example: `{"class":"price","needed":"1000000000"}` */
  readonly refusal?: TransactionRefusal
  /** Slot that contains it. Absent if none does. Example: `300000000` */
  readonly slot?: number
}

/** What an API key may send on solana networks. */
export interface SolanaTransactionLimits {
  /** Most lamports that one transaction may send. Example: `"2000000000"` */
  readonly max_value?: bigint
  /**
   * Most lamports that transactions may pay in fees within 24 hours. Transactions of keys that this key created
   * count as well. Example: `"50000000"`
   */
  readonly max_fee_per_day?: bigint
  /**
   * Receivers that it may send to. Upper and lower case differ. If absent, all. Example:
   * `["9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"]`
   */
  readonly receivers?: ReadonlyArray<string>
}

/** A transaction of a solana relayer after an event. */
export interface SolanaTransactionPayload {
  /** Always `transaction`. Example: `"transaction"` */
  readonly payload_type: "transaction"
  /** Network type of the relayer. Example: `"solana"` */
  readonly network_type: "solana"
  /** Identifier of the transaction. Example: `"4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"` */
  readonly id: string & Brand.Brand<"TransactionId">
  /** Relayer that sends it. Example: `"payouts"` */
  readonly relayer_id: string & Brand.Brand<"RelayerId">
  /** State of the transaction. Example: `"submitted"` */
  readonly status: TransactionStatus
  /** What it waits for, or why it ended, as a sentence. Example: `"It was canceled."` */
  readonly status_reason?: string
  /** The same as a code. Example: `"in_pool"` */
  readonly code?: TransactionCode
  /** When it was accepted. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly created_at: DateTime.Utc
  /** When it was first sent. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly sent_at?: DateTime.Utc
  /** When it was confirmed. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly confirmed_at?: DateTime.Utc
  /**
   * 1 if one RPC provider has decided alone that it is final, after no other one had an opinion for the time of
   * `finality_by_one`. Otherwise absent. Example: `1`
   */
  readonly confirmed_by?: number
  /** Whether a cancel was requested. The transaction may still be executed. Example: `false` */
  readonly is_canceled: boolean
  /** The caller's identifier. Example: `"order-1234"` */
  readonly external_id?: string
  /** Deadline. Example: `"2026-11-22T20:00:00.000Z"` */
  readonly valid_until?: DateTime.Utc
  /** Base64 of the attempt that landed, else of the newest. Empty before the first signature. Example: `"AQAAAA=="` */
  readonly transaction: string
  /**
   * Signature of the attempt that landed, else of the newest. Example:
   * `"5555555555555555555555555555555555555555555555555555555555555555555555555555555555555555"`
   */
  readonly signature?: string
  /** The instructions of the request. Example: `[]` */
  readonly instructions?: ReadonlyArray<SolanaInstructionSpec>
  /** Slot of the attempt that landed. An addition to the common wire format. Example: `300000000` */
  readonly slot?: number
  /**
   * Lamports that it paid in fees, computed. An upper bound if the message sets a price and no limit of compute
   * units. An addition to the common wire format. Example: `"5020"`
   */
  readonly fee_paid?: bigint
  /**
   * Error of the attempt that landed, as the chain has it. An addition to the common wire format. Example:
   * `{"InstructionError":[0,{"Custom":1}]}`
   */
  readonly error?: unknown
  /** All signed versions, oldest first. An addition to the common wire format. Example: `[]` */
  readonly attempts?: ReadonlyArray<SolanaTransactionAttempt>
  /**
   * All versions of the request, oldest first. Only in the response of one transaction, if its request was
   * replaced. An addition to the common wire format. Example: `[]`
   */
  readonly request_versions?: ReadonlyArray<SolanaRequestVersion>
}

/** A solana transaction. */
export interface SolanaTransactionResponse {
  /** Network type of the relayer. Example: `"solana"` */
  readonly network_type: "solana"
  /** Identifier of the transaction. Example: `"4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"` */
  readonly id: string & Brand.Brand<"TransactionId">
  /** Relayer that sends it. Example: `"payouts"` */
  readonly relayer_id: string & Brand.Brand<"RelayerId">
  /** State of the transaction. Example: `"submitted"` */
  readonly status: TransactionStatus
  /** What it waits for, or why it ended, as a sentence. Example: `"It was canceled."` */
  readonly status_reason?: string
  /** The same as a code. Example: `"in_pool"` */
  readonly code?: TransactionCode
  /** When it was accepted. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly created_at: DateTime.Utc
  /** When it was first sent. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly sent_at?: DateTime.Utc
  /** When it was confirmed. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly confirmed_at?: DateTime.Utc
  /**
   * 1 if one RPC provider has decided alone that it is final, after no other one had an opinion for the time of
   * `finality_by_one`. Otherwise absent. Example: `1`
   */
  readonly confirmed_by?: number
  /** Whether a cancel was requested. The transaction may still be executed. Example: `false` */
  readonly is_canceled: boolean
  /** The caller's identifier. Example: `"order-1234"` */
  readonly external_id?: string
  /** Deadline. Example: `"2026-11-22T20:00:00.000Z"` */
  readonly valid_until?: DateTime.Utc
  /** Base64 of the attempt that landed, else of the newest. Empty before the first signature. Example: `"AQAAAA=="` */
  readonly transaction: string
  /**
   * Signature of the attempt that landed, else of the newest. Example:
   * `"5555555555555555555555555555555555555555555555555555555555555555555555555555555555555555"`
   */
  readonly signature?: string
  /** The instructions of the request. Example: `[]` */
  readonly instructions?: ReadonlyArray<SolanaInstructionSpec>
  /** Slot of the attempt that landed. An addition to the common wire format. Example: `300000000` */
  readonly slot?: number
  /**
   * Lamports that it paid in fees, computed. An upper bound if the message sets a price and no limit of compute
   * units. An addition to the common wire format. Example: `"5020"`
   */
  readonly fee_paid?: bigint
  /**
   * Error of the attempt that landed, as the chain has it. An addition to the common wire format. Example:
   * `{"InstructionError":[0,{"Custom":1}]}`
   */
  readonly error?: unknown
  /** All signed versions, oldest first. An addition to the common wire format. Example: `[]` */
  readonly attempts?: ReadonlyArray<SolanaTransactionAttempt>
  /**
   * All versions of the request, oldest first. Only in the response of one transaction, if its request was
   * replaced. An addition to the common wire format. Example: `[]`
   */
  readonly request_versions?: ReadonlyArray<SolanaRequestVersion>
}

/** A span of the request. */
export interface Span {
  /** What the span measures. Example: `"Relayers.create"` */
  readonly name: string
  /** Identifier of the trace (OpenTelemetry). Example: `"5b8aa5a2d2c872e8321cf37308d69df2"` */
  readonly trace_id: string
  /** Identifier of the span in its trace. Example: `"051581bf3cb55c13"` */
  readonly span_id: string
  /** The span that contains this one. Example: `"5fb397be34d26b51"` */
  readonly parent_span_id?: string
  /** When the span started. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly started_at: string
  /** Duration in milliseconds. Absent while the span is running. Example: `1.25` */
  readonly duration_ms?: number
  /** Whether the span is running, has succeeded or has failed. Example: `"ok"` */
  readonly status: "running" | "ok" | "error"
  /** Further data of the span. Example: `{"db.system.name":"postgresql"}` */
  readonly attributes: { readonly [key: string]: unknown }
}

export type Speed = "safeLow" | "average" | "fast" | "fastest"

/** A transaction for the user to sign, as the network type of the relayer has it. */
export type SponsoredTransaction = BuiltSolanaTransaction | BuiltStellarTransaction

/** What a transaction costs its user, as the network type of the relayer has it. */
export type SponsoredTransactionQuote = SolanaQuote | StellarQuote

export interface SponsoredTransactionQuoteResponse extends ResponseEnvelope {
  /** What a transaction costs its user, as the network type of the relayer has it. */
  readonly data: SponsoredTransactionQuote
}

export interface SponsoredTransactionResponse extends ResponseEnvelope {
  /** A transaction for the user to sign, as the network type of the relayer has it. */
  readonly data: SponsoredTransaction
}

/** XLM, or credit of an issuer. */
export type StellarAsset = StellarNativeAsset | StellarCredit4 | StellarCredit12

/** What the call may do in the name of accounts. */
export type StellarAuth = 
  | {
    /** The call has no authorization. Example: `"none"` */
    readonly type: "none"
  }
  | {
    /**
     * The call itself has the authorization of the relayer, and the calls below it have none. Example:
     * `"source_account"`
     */
    readonly type: "source_account"
  }
  | {
    /**
     * Authorizations of these contracts are recorded. They are not signed, so that an account cannot be among them.
     * Example: `"addresses"`
     */
    readonly type: "addresses"
    /**
     * Contracts whose authorizations are recorded. Example:
     * `["CDL74RF5BLYR2YBLCCI7F5FB6TPSCLKEJUBSD2RSVWZ4YHF3VMFAIGWA"]`
     */
    readonly signers: ReadonlyArray<string>
  }
  | {
    /** The caller gives the authorizations. Example: `"xdr"` */
    readonly type: "xdr"
    /** `SorobanAuthorizationEntry` values as base64 of their XDR. Example: `["AAAAAA=="]` */
    readonly entries: ReadonlyArray<string>
  }

/** An account whose sequences transactions of the relayer use. */
export interface StellarChannel {
  /** Account of the channel. Example: `"GAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEARIHQ"` */
  readonly address: string
  /**
   * `creating`: its account was not seen yet. `draining`: it ends, and nothing is sent with it any more. Example:
   * `"ready"`
   */
  readonly stage: "creating" | "ready" | "draining"
  /** Sequence that the service assigns next. 0: its account was not read yet. Example: `"257698037760000002"` */
  readonly next_sequence: bigint
  /** The open transaction that has its place. Example: `"0196f5a4-6d5c-7b3a-9e3f-2f1a6c8d4e10"` */
  readonly transaction_id?: string & Brand.Brand<"TransactionId">
  /**
   * Sequence of its account, read for this response. Absent if no provider answers, or if the account does not
   * exist. Example: `"257698037760000001"`
   */
  readonly chain_sequence?: bigint
}

/** What the address of the contract follows from. */
export type StellarContractSource = 
  | {
    /** The address follows from that of an account. Example: `"address"` */
    readonly from: "address"
    /** The relayer's account. Example: `"GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"` */
    readonly address: string
  }
  | {
    /** The address follows from that of a contract. Example: `"contract"` */
    readonly from: "contract"
    /** The contract. Example: `"CDL74RF5BLYR2YBLCCI7F5FB6TPSCLKEJUBSD2RSVWZ4YHF3VMFAIGWA"` */
    readonly contract: string
  }

export interface StellarCredit12 {
  /** Credit with a code of 5 to 12 characters. Example: `"credit12"` */
  readonly type: "credit12"
  /** Code of the asset. Example: `"EURTOKEN"` */
  readonly code: string
  /** Account that issues the asset. Example: `"GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"` */
  readonly issuer: string
}

export interface StellarCredit4 {
  /** Credit with a code of 1 to 4 characters. Example: `"credit4"` */
  readonly type: "credit4"
  /** Code of the asset. Example: `"USDC"` */
  readonly code: string
  /** Account that issues the asset. Example: `"GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"` */
  readonly issuer: string
}

/** A memo for the receiver. */
export type StellarMemo = 
  | {
    /** No memo. Example: `"none"` */
    readonly type: "none"
  }
  | {
    /** A text. Example: `"text"` */
    readonly type: "text"
    /** The text, of at most 28 bytes of UTF-8. Example: `"invoice 17"` */
    readonly value: string
  }
  | {
    /** A number of 64 bits. Example: `"id"` */
    readonly type: "id"
    /** The number. Example: `"18446744073709551615"` */
    readonly value: bigint
  }
  | {
    /** A hash. Example: `"hash"` */
    readonly type: "hash"
    /** 32 bytes, in hex or as a list. Example: `"5c5e6f805c5e6f805c5e6f805c5e6f805c5e6f805c5e6f805c5e6f805c5e6f80"` */
    readonly value: string
  }
  | {
    /** The hash of what is returned. Example: `"return"` */
    readonly type: "return"
    /** 32 bytes, in hex or as a list. Example: `"5c5e6f805c5e6f805c5e6f805c5e6f805c5e6f805c5e6f805c5e6f805c5e6f80"` */
    readonly value: string
  }

export interface StellarNativeAsset {
  /** XLM. Example: `"native"` */
  readonly type: "native"
}

export interface StellarNetwork {
  /** Identifier of the network: its type and its name. Example: `"evm:sepolia"` */
  readonly id: string & Brand.Brand<"NetworkId">
  /** Name of the network, unique for its type. Example: `"sepolia"` */
  readonly name: string & Brand.Brand<"NetworkName">
  /** Network of the same type that this one inherits from. Example: `"sepolia"` */
  readonly from?: string & Brand.Brand<"NetworkName">
  /**
   * `builtin`: part of the service. `overridden`: built-in, with changed fields. `own`: created by a request.
   * Example: `"builtin"`
   */
  readonly source: "builtin" | "overridden" | "own"
  /** Providers of the chain, with masked URLs. */
  readonly rpc_urls: ReadonlyArray<RpcConfig>
  /** Block explorers, for people. Example: `["https://sepolia.etherscan.io"]` */
  readonly explorer_urls?: ReadonlyArray<string>
  /** Milliseconds between two blocks, on average. Example: `12000` */
  readonly average_blocktime_ms: number
  /** Whether the network is a testnet. Example: `true` */
  readonly is_testnet: boolean
  /** Labels, for people. Example: `["staging"]` */
  readonly tags?: ReadonlyArray<string>
  /**
   * How long no second RPC URL has an opinion about a transaction before the one that is left decides alone that
   * it is final: a number of minutes, hours or days, or `never`. The default is `1h`. With two RPC URLs, a
   * duration is safe if one of them lies or one of them is silent, but not both. Example: `"1h"`
   */
  readonly finality_by_one?: string
  /**
   * The configuration that owns the resource: its next apply reverts other changes. Absent while no configuration
   * owns it. Example: `"payments"`
   */
  readonly managed_by?: string
  /** The family of chains. Example: `"stellar"` */
  readonly network_type: "stellar"
  /** Network passphrase, which is part of every signature. Example: `"Test SDF Network ; September 2015"` */
  readonly passphrase: string
  /** URL of the Horizon server. Example: `"https://horizon-testnet.stellar.org"` */
  readonly horizon_url?: string
  /**
   * Contract whose `forward` passes a call on and takes the fee of the relayer in a token. If absent, users cannot
   * pay for calls of contracts in a token. Example: `"CA3D5KRYM6CB7OWQ6TWYRR3Z4T7GNZLKERYNZGGA5SOAOPIFY6YQGAXE"`
   */
  readonly fee_forwarder?: string
  /**
   * JSON-RPC methods that `POST /relayers/{relayer_id}/rpc` passes on. If absent, methods that only read. No list
   * lets it pass `sendTransaction` of stellar on. Example: `["eth_call","eth_getLogs"]`
   */
  readonly rpc_methods?: ReadonlyArray<string>
}

/** Sequences of the ledger next to that of the chain. */
export interface StellarNonceState {
  /** Account. Example: `"GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"` */
  readonly address: string
  /** How often an operator declared that the test network was restarted. Example: `0` */
  readonly generation: number
  /** Sequence that the service assigns next. 0: the account was not read yet. Example: `"257698037760000002"` */
  readonly next_sequence: bigint
  /**
   * Highest sequence of the account that the service has accepted from the chain as used. Example:
   * `"257698037760000000"`
   */
  readonly used_sequence: bigint
  /** Open transactions of the account without a sequence. Example: `3` */
  readonly pending: number
  /** Open transactions of the account with envelopes. Example: `1` */
  readonly in_flight: number
  /** Lowest sequence of an open transaction. Example: `"257698037760000001"` */
  readonly oldest_open_sequence?: bigint
  /**
   * Envelopes that callers got signed and that can be applied at a sequence that is not used yet. Transactions
   * wait for such a sequence. Example: `[]`
   */
  readonly given: ReadonlyArray<GivenStellarEnvelope>
  /** Channels of the account. Example: `[]` */
  readonly channels: ReadonlyArray<StellarChannel>
  /** Stroops of reserves that the relayer pays for the channels. Example: `"45000000"` */
  readonly locked_by_channels: bigint
  /** Why the service signs nothing for the account. Example: `"chain_changed"` */
  readonly code?: TransactionCode
  /** Since when. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly code_since?: DateTime.Utc
  /**
   * Sequence of the account, read from a provider for this response. Absent if no provider answers, or if the
   * account does not exist. Example: `"257698037760000000"`
   */
  readonly chain_sequence?: bigint
  /** Ledger at which it was read. Absent if no provider answers. Example: `60000123` */
  readonly chain_ledger?: number
}

/** An operation of a transaction. */
export type StellarOperation = 
  | {
    /** A payment. Example: `"payment"` */
    readonly type: "payment"
    /** Receiver, `G…` or `M…`. Example: `"GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"` */
    readonly destination: string
    /** Stroops, or the smallest unit of the credit. Example: `"10000000"` */
    readonly amount: bigint
    /** XLM, or credit of an issuer. */
    readonly asset: StellarAsset
  }
  | {
    /** A call of a contract. Example: `"invoke_contract"` */
    readonly type: "invoke_contract"
    /** Contract that is called. Example: `"CDL74RF5BLYR2YBLCCI7F5FB6TPSCLKEJUBSD2RSVWZ4YHF3VMFAIGWA"` */
    readonly contract_address: string
    /** Function that is called. Example: `"transfer"` */
    readonly function_name: string
    /** Arguments of the call. Example: `[{"u64":"1"}]` */
    readonly args: ReadonlyArray<StellarValue>
    /** If absent, the call itself has the authorization of the relayer, and the calls below it have none. */
    readonly auth?: StellarAuth
  }
  | {
    /** The creation of a contract. Example: `"create_contract"` */
    readonly type: "create_contract"
    /** What the address of the contract follows from. */
    readonly source: StellarContractSource
    /** Hash of the code, in hex. Example: `"5c5e6f805c5e6f805c5e6f805c5e6f805c5e6f805c5e6f805c5e6f805c5e6f80"` */
    readonly wasm_hash: string
    /**
     * 32 bytes in hex. If absent, zeros. Example:
     * `"5c5e6f805c5e6f805c5e6f805c5e6f805c5e6f805c5e6f805c5e6f805c5e6f80"`
     */
    readonly salt?: string
    /** Arguments of the constructor. Example: `[{"u64":"1"}]` */
    readonly constructor_args?: ReadonlyArray<StellarValue>
    /** If absent, the call itself has the authorization of the relayer, and the calls below it have none. */
    readonly auth?: StellarAuth
  }
  | {
    /** An upload of code. Example: `"upload_wasm"` */
    readonly type: "upload_wasm"
    /** Code of a contract. */
    readonly wasm: StellarWasm
    /** If absent, the call itself has the authorization of the relayer, and the calls below it have none. */
    readonly auth?: StellarAuth
  }

/** Limits of a stellar relayer. */
export interface StellarPolicy {
  /** Who pays the fees: the relayer, or the user in a token. The default is `relayer`. Example: `"relayer"` */
  readonly fee_payment_strategy?: "user" | "relayer"
  /** Stroops that must stay on the account. The default is 1000000. Example: `1000000` */
  readonly min_balance?: bigint
  /** Highest fee of a transaction in stroops. Example: `100000` */
  readonly max_fee?: number
  /**
   * Seconds for which an envelope is valid. Below 15 and above 300, the nearest of both is used, and `explain` of
   * the relayer warns. Example: `60`
   */
  readonly timeout_seconds?: bigint
  /** Whether several transactions may be sent at the same time. The default is false. Example: `false` */
  readonly concurrent_transactions?: boolean
  /**
   * Accounts that the service makes so that several transactions are in each ledger. If absent, none. An addition
   * to the common wire format.
   */
  readonly channels?: {
    /**
     * How many channels the relayer has. Each one locks three base reserves of the relayer (1.5 XLM on the public
     * network), and the service ends those that are too many. Example: `5`
     */
    readonly count: number
  }
  /** Tokens that users may pay with. If absent or empty, none. */
  readonly allowed_tokens?: ReadonlyArray<{
    /**
     * `native`, `XLM`, CODE:ISSUER or a contract address. Example:
     * `"USDC:GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"`
     */
    readonly asset: string
    /** Highest fee in units of the asset. Example: `1000000` */
    readonly max_allowed_fee?: bigint
    /** The price, if the price source is `fixed`. An addition to the common wire format. */
    readonly price?: TokenPrice
    /** Bounds of the price. If absent, there are none. An addition to the common wire format. */
    readonly price_bounds?: TokenPriceBounds
    /** When the relayer swaps the token for the native one. */
    readonly swap_config?: TokenSwap
  }>
  /** Percentage that is added to estimated fees. Example: `5` */
  readonly fee_margin_percentage?: number
  /**
   * By how many percent a payment of a user may be too low, because the price moved. The default is 1. Example:
   * `1`
   */
  readonly slippage_percentage?: number
  /**
   * Where the prices of tokens come from. If absent, there is none, so no user can pay. An addition to the common
   * wire format.
   */
  readonly price_source?: PriceSource
  /**
   * Operations that unsigned envelopes may contain besides payments, path payments, changes of trust lines and
   * calls of contracts. `accountMerge`, `setOptions` and `bumpSequence` cannot be allowed. An addition to the
   * common wire format. Example: `["manageData"]`
   */
  readonly allowed_operations?: ReadonlyArray<
    | "createAccount"
    | "manageSellOffer"
    | "createPassiveSellOffer"
    | "manageBuyOffer"
    | "allowTrust"
    | "manageData"
    | "createClaimableBalance"
    | "claimClaimableBalance"
    | "beginSponsoringFutureReserves"
    | "endSponsoringFutureReserves"
    | "revokeSponsorship"
    | "clawback"
    | "clawbackClaimableBalance"
    | "setTrustLineFlags"
    | "liquidityPoolDeposit"
    | "liquidityPoolWithdraw">
  /**
   * Seconds that the `maxTime` of an envelope may lie ahead if others sign it or send it. The default is 300. If
   * users pay, at most 120 count. An addition to the common wire format. Example: `120`
   */
  readonly sponsor_time_limit_seconds?: number
  /**
   * Entries of the account, such as trust lines, after a change of trust lines at most. The default is 20. An
   * addition to the common wire format. Example: `20`
   */
  readonly max_subentries?: number
  /** How the relayer swaps tokens for XLM. Only if the fee payment strategy is `user`. */
  readonly swap_config?: {
    /** How to swap, in the order of preference. Example: `["order-book"]` */
    readonly strategies: ReadonlyArray<"order-book" | "soroswap">
    /** When to swap: a cron schedule of 6 or 7 fields, seconds first. Example: `"0 0 *\/6 * * *"` */
    readonly cron_schedule?: string
    /** Stroops below which tokens are swapped. Example: `100000000` */
    readonly min_balance_threshold?: bigint
  }
}

/** What a transaction costs its user. */
export interface StellarQuote {
  /** The fee in units of the token, with the margin of the policy. Example: `"3000"` */
  readonly fee_in_token: bigint
  /** The same in whole tokens. Example: `"0.0003"` */
  readonly fee_in_token_ui: string
  /**
   * Only for a call of a contract: the most that the user lets the forwarder take, which is the fee with the
   * slippage of the policy. Example: `"3030"`
   */
  readonly max_fee_in_token?: bigint
  /** The same in whole tokens. Example: `"0.000303"` */
  readonly max_fee_in_token_ui?: string
  /** Whole tokens that one XLM costs. Example: `"0.25"` */
  readonly conversion_rate: string
}

export interface StellarRelayer {
  /** Identifier of the relayer. Example: `"payouts"` */
  readonly id: string & Brand.Brand<"RelayerId">
  /** Name of the relayer, for people. Example: `"Payouts"` */
  readonly name: string
  /** Name of the network, unique for its type. Example: `"sepolia"` */
  readonly network: string & Brand.Brand<"NetworkName">
  /** Address of the signer, as StrKey. Example: `"GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"` */
  readonly address: string
  /** Whether the operator has paused the relayer. Example: `false` */
  readonly paused: boolean
  /** Whether the service has disabled the relayer. Example: `false` */
  readonly system_disabled: boolean
  /** Why the service has disabled the relayer. */
  readonly disabled_reason?: DisabledReason
  /** Identifier of the signer. Example: `"hot-1"` */
  readonly signer_id: string & Brand.Brand<"SignerId">
  /** Identifier of the notification. Example: `"ops"` */
  readonly notification_id?: string & Brand.Brand<"NotificationId">
  /** Providers of the relayer. If absent, it uses those of the network. */
  readonly custom_rpc_urls?: ReadonlyArray<RpcConfig>
  /** The family of chains. Example: `"stellar"` */
  readonly network_type: "stellar"
  /** Limits of a stellar relayer. */
  readonly policies?: StellarPolicy
  /**
   * The configuration that owns the resource: its next apply reverts other changes. Absent while no configuration
   * owns it. Example: `"payments"`
   */
  readonly managed_by?: string
  /** Its last check and its open transactions. Only in lists, with `include=health`. */
  readonly health?: RelayerHealthSummary
}

export interface StellarRelayerStatus {
  /** The family of chains. Example: `"stellar"` */
  readonly network_type: "stellar"
  /** Balance in the chain's smallest unit. Absent if it was never read. Example: `"1000000000000000000"` */
  readonly balance?: bigint
  /**
   * True if balance, nonce and providers were read for this response. False if they are from `read_at` and from
   * the last check. Example: `true`
   */
  readonly live: boolean
  /** When the amounts were read. Absent if they never were. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly read_at?: DateTime.Utc
  /** Whether the operator has paused the relayer. Example: `false` */
  readonly paused: boolean
  /** Whether the service has disabled the relayer. Example: `false` */
  readonly system_disabled: boolean
  /** Why the service has disabled the relayer. */
  readonly disabled_reason?: DisabledReason
  /**
   * `unknown`: not checked yet. `degraded`: it works, but not with all providers. `failing`: checks have failed,
   * but too few to disable it. Example: `"healthy"`
   */
  readonly health: HealthStatus
  /** When the relayer was last checked. Absent before the first check. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly last_check_at?: DateTime.Utc
  /** When the relayer is checked next. Example: `"2026-01-02T03:05:05.678Z"` */
  readonly next_check_at: DateTime.Utc
  /** Transactions of the relayer that are not final. Example: `2` */
  readonly pending_transactions_count: number
  /** When its last transaction was confirmed. Absent if none was. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly last_confirmed_transaction_timestamp?: DateTime.Utc
  /** The providers, in the order of the RPC URLs. */
  readonly providers: ReadonlyArray<ProviderReading>
  /** Sequence number of the account's last transaction. Example: `"103720918407102567"` */
  readonly sequence_number?: bigint
}

/** What a caller asked for, in one of its versions. */
export interface StellarRequestVersion {
  /** Number of the version, from 1. Example: `1` */
  readonly version: number
  /**
   * Operations of the request. Only in the response of one transaction. An addition to the common wire format.
   * Example: `[]`
   */
  readonly operations?: ReadonlyArray<StellarOperation>
  /**
   * Memo of the request. Only in the response of one transaction. An addition to the common wire format. Example:
   * `{"type":"text","value":"order-1234"}`
   */
  readonly memo?: StellarMemo
  /** The envelope in base64. Example: `"AAAAAgAAAAAAAAAA"` */
  readonly transaction_xdr?: string
  /** Stroops that an envelope may cost in all. Example: `"1000000"` */
  readonly max_fee?: bigint
}

/** What a send would do and cost now. */
export interface StellarSimulation {
  /** Stroops that the first envelope would bid. Absent: more than its field can hold. Example: `"250"` */
  readonly fee?: bigint
  /** Stroops per operation that it would bid. Example: `"250"` */
  readonly inclusion_fee: bigint
  /** Stroops of the fee that are for the resources of a call, with a margin. Example: `"0"` */
  readonly resource_fee: bigint
  /** Stroops that an envelope of this request may cost. Example: `"1000000"` */
  readonly max_fee: bigint
  /** Whether `fee` is at most `max_fee`. Example: `true` */
  readonly fits: boolean
  /**
   * Stroops that the operations take from the account at most, besides the fee. Limits of API keys count it.
   * Example: `"10000000"`
   */
  readonly out: bigint
  /** Authorizations that the call asks for, as base64 of their XDR. Example: `[]` */
  readonly auth: ReadonlyArray<string>
  /** What the call returns, as base64 of an `ScVal`. Example: `"AAAAAwAAAAE="` */
  readonly return_value?: string
  /** Whether archived entries have to be restored first. Example: `false` */
  readonly needs_restore: boolean
  /**
   * Stroops that the account has more after the simulation of a call, without the fee. Negative: less. Example:
   * `"-10000000"`
   */
  readonly balance_change?: bigint
  /** Codes of what keeps a send of this request from being accepted or signed now. Empty: nothing. Example: `[]` */
  readonly verdict: ReadonlyArray<string>
}

/** A signed envelope of the transaction. */
export interface StellarTransactionAttempt {
  /**
   * Hash of the envelope, of the outer one if there are two. Example:
   * `"5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c"`
   */
  readonly hash: string
  /** Hash of the inner envelope. Example: `"5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c"` */
  readonly inner_hash?: string
  /**
   * Why it was signed: for the first time, again at the same place, or for a new version of the request. Example:
   * `"original"`
   */
  readonly kind: "original" | "refresh" | "replace"
  /** Stroops that it can cost at most. Example: `"2000"` */
  readonly max_fee: bigint
  /** When it can no longer be applied: its `maxTime`. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly valid_until: DateTime.Utc
  /** Number of the attempt, from 1, in the order of signatures. Example: `1` */
  readonly ordinal?: number
  /** Version of the request that it carries, from 1. A replacement adds a version. Example: `1` */
  readonly request_version?: number
  /** When it was signed. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly signed_at: DateTime.Utc
  /** When it was first sent. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly sent_at?: DateTime.Utc
  /** How often it was sent to nodes. Example: `2` */
  readonly sends?: number
  /** When it was last sent. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly last_sent_at?: DateTime.Utc
  /** The newest answer of nodes. `unknown`: none has answered, so it may have left or not. Example: `"accepted"` */
  readonly outcome?: "unknown" | "accepted" | "refused"
  /** Why nodes refused it. Absent if none did. Example: `{"class":"price","needed":"1000000000"}` */
  readonly refusal?: TransactionRefusal
  /**
   * Account whose sequence its bytes use: the relayer, or a channel of the service. Example:
   * `"GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"`
   */
  readonly account?: string
  /** Sequence of its bytes. Example: `"257698037760000001"` */
  readonly sequence_number?: bigint
  /** Ledger that contains it. Absent if none does. Example: `60000000` */
  readonly ledger?: number
}

/** What an API key may send on stellar networks. */
export interface StellarTransactionLimits {
  /** Most stroops that one transaction may send. Example: `"2000000000"` */
  readonly max_value?: bigint
  /**
   * Most stroops that transactions may pay in fees within 24 hours. Transactions of keys that this key created
   * count as well. Example: `"50000000"`
   */
  readonly max_fee_per_day?: bigint
  /**
   * Receivers that it may send to. Upper and lower case differ. If absent, all. Example:
   * `["GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"]`
   */
  readonly receivers?: ReadonlyArray<string>
}

/** A transaction of a stellar relayer after an event. */
export interface StellarTransactionPayload {
  /** Always `transaction`. Example: `"transaction"` */
  readonly payload_type: "transaction"
  /** Network type of the relayer. Example: `"stellar"` */
  readonly network_type: "stellar"
  /** Identifier of the transaction. Example: `"4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"` */
  readonly id: string & Brand.Brand<"TransactionId">
  /** Relayer that sends it. Example: `"payouts"` */
  readonly relayer_id: string & Brand.Brand<"RelayerId">
  /** State of the transaction. Example: `"submitted"` */
  readonly status: TransactionStatus
  /** What it waits for, or why it ended, as a sentence. Example: `"It was canceled."` */
  readonly status_reason?: string
  /** The same as a code. Example: `"in_pool"` */
  readonly code?: TransactionCode
  /** When it was accepted. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly created_at: DateTime.Utc
  /** When it was first sent. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly sent_at?: DateTime.Utc
  /** When it was confirmed. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly confirmed_at?: DateTime.Utc
  /**
   * 1 if one RPC provider has decided alone that it is final, after no other one had an opinion for the time of
   * `finality_by_one`. Otherwise absent. Example: `1`
   */
  readonly confirmed_by?: number
  /** Whether a cancel was requested. The transaction may still be executed. Example: `false` */
  readonly is_canceled: boolean
  /** The caller's identifier. Example: `"order-1234"` */
  readonly external_id?: string
  /** Deadline. Example: `"2026-11-22T20:00:00.000Z"` */
  readonly valid_until?: DateTime.Utc
  /**
   * Account whose operations are executed: the relayer, or the source of the envelope that it pays for. Example:
   * `"GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"`
   */
  readonly source_account: string
  /** Stroops: what was charged, else what the newest envelope can cost. 0 before the first one. Example: `2000` */
  readonly fee: number
  /**
   * Sequence of the envelope, as text because it exceeds 2^53. 0 before the first one. Example:
   * `"257698037760000001"`
   */
  readonly sequence_number: bigint
  /**
   * Hash of the envelope that was applied, else of the newest. Example:
   * `"5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c"`
   */
  readonly hash?: string
  /** Result of the network in base64 of XDR. Example: `"AAAAAAAAAGQAAAAAAAAAAAAAAAA="` */
  readonly transaction_result_xdr?: string
  /**
   * Hash of the inner envelope of a fee bump. An addition to the common wire format. Example:
   * `"5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c"`
   */
  readonly inner_hash?: string
  /**
   * Account of the service whose sequence it uses, if it is not the relayer. An addition to the common wire
   * format. Example: `"GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"`
   */
  readonly channel_account?: string
  /** Ledger that contains it. An addition to the common wire format. Example: `60000000` */
  readonly ledger?: number
  /** Stroops that were charged. An addition to the common wire format. Example: `"200"` */
  readonly fee_paid?: bigint
  /** Result of the transaction. An addition to the common wire format. Example: `"txSuccess"` */
  readonly result_code?: string
  /** Results of the operations. An addition to the common wire format. Example: `["paymentSuccess"]` */
  readonly operation_results?: ReadonlyArray<string>
  /**
   * First error of the contract, as a diagnostic event names it. An addition to the common wire format. Example:
   * `"trapped"`
   */
  readonly contract_error?: string
  /**
   * Operations of the request. Only in the response of one transaction. An addition to the common wire format.
   * Example: `[]`
   */
  readonly operations?: ReadonlyArray<StellarOperation>
  /**
   * Memo of the request. Only in the response of one transaction. An addition to the common wire format. Example:
   * `{"type":"text","value":"order-1234"}`
   */
  readonly memo?: StellarMemo
  /** All signed envelopes, oldest first. An addition to the common wire format. Example: `[]` */
  readonly attempts?: ReadonlyArray<StellarTransactionAttempt>
  /**
   * All versions of the request, oldest first. Only in the response of one transaction, if its request was
   * replaced. An addition to the common wire format. Example: `[]`
   */
  readonly request_versions?: ReadonlyArray<StellarRequestVersion>
}

/** A stellar transaction. */
export interface StellarTransactionResponse {
  /** Network type of the relayer. Example: `"stellar"` */
  readonly network_type: "stellar"
  /** Identifier of the transaction. Example: `"4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"` */
  readonly id: string & Brand.Brand<"TransactionId">
  /** Relayer that sends it. Example: `"payouts"` */
  readonly relayer_id: string & Brand.Brand<"RelayerId">
  /** State of the transaction. Example: `"submitted"` */
  readonly status: TransactionStatus
  /** What it waits for, or why it ended, as a sentence. Example: `"It was canceled."` */
  readonly status_reason?: string
  /** The same as a code. Example: `"in_pool"` */
  readonly code?: TransactionCode
  /** When it was accepted. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly created_at: DateTime.Utc
  /** When it was first sent. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly sent_at?: DateTime.Utc
  /** When it was confirmed. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly confirmed_at?: DateTime.Utc
  /**
   * 1 if one RPC provider has decided alone that it is final, after no other one had an opinion for the time of
   * `finality_by_one`. Otherwise absent. Example: `1`
   */
  readonly confirmed_by?: number
  /** Whether a cancel was requested. The transaction may still be executed. Example: `false` */
  readonly is_canceled: boolean
  /** The caller's identifier. Example: `"order-1234"` */
  readonly external_id?: string
  /** Deadline. Example: `"2026-11-22T20:00:00.000Z"` */
  readonly valid_until?: DateTime.Utc
  /**
   * Account whose operations are executed: the relayer, or the source of the envelope that it pays for. Example:
   * `"GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"`
   */
  readonly source_account: string
  /** Stroops: what was charged, else what the newest envelope can cost. 0 before the first one. Example: `2000` */
  readonly fee: number
  /**
   * Sequence of the envelope, as text because it exceeds 2^53. 0 before the first one. Example:
   * `"257698037760000001"`
   */
  readonly sequence_number: bigint
  /**
   * Hash of the envelope that was applied, else of the newest. Example:
   * `"5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c"`
   */
  readonly hash?: string
  /** Result of the network in base64 of XDR. Example: `"AAAAAAAAAGQAAAAAAAAAAAAAAAA="` */
  readonly transaction_result_xdr?: string
  /**
   * Hash of the inner envelope of a fee bump. An addition to the common wire format. Example:
   * `"5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c"`
   */
  readonly inner_hash?: string
  /**
   * Account of the service whose sequence it uses, if it is not the relayer. An addition to the common wire
   * format. Example: `"GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"`
   */
  readonly channel_account?: string
  /** Ledger that contains it. An addition to the common wire format. Example: `60000000` */
  readonly ledger?: number
  /** Stroops that were charged. An addition to the common wire format. Example: `"200"` */
  readonly fee_paid?: bigint
  /** Result of the transaction. An addition to the common wire format. Example: `"txSuccess"` */
  readonly result_code?: string
  /** Results of the operations. An addition to the common wire format. Example: `["paymentSuccess"]` */
  readonly operation_results?: ReadonlyArray<string>
  /**
   * First error of the contract, as a diagnostic event names it. An addition to the common wire format. Example:
   * `"trapped"`
   */
  readonly contract_error?: string
  /**
   * Operations of the request. Only in the response of one transaction. An addition to the common wire format.
   * Example: `[]`
   */
  readonly operations?: ReadonlyArray<StellarOperation>
  /**
   * Memo of the request. Only in the response of one transaction. An addition to the common wire format. Example:
   * `{"type":"text","value":"order-1234"}`
   */
  readonly memo?: StellarMemo
  /** All signed envelopes, oldest first. An addition to the common wire format. Example: `[]` */
  readonly attempts?: ReadonlyArray<StellarTransactionAttempt>
  /**
   * All versions of the request, oldest first. Only in the response of one transaction, if its request was
   * replaced. An addition to the common wire format. Example: `[]`
   */
  readonly request_versions?: ReadonlyArray<StellarRequestVersion>
}

/** A value of a contract. */
export type StellarValue = 
  | {
    /** A truth value. */
    readonly bool: boolean
  }
  | {
    /** The value without content. */
    readonly void: null
  }
  | {
    /** An unsigned integer of 32 bits. */
    readonly u32: number
  }
  | {
    /** A signed integer of 32 bits. */
    readonly i32: number
  }
  | {
    /** An unsigned integer of 64 bits. */
    readonly u64: bigint
  }
  | {
    /** A signed integer of 64 bits. */
    readonly i64: bigint
  }
  | {
    /** A moment, in seconds since 1970. */
    readonly timepoint: bigint
  }
  | {
    /** A duration, in seconds. */
    readonly duration: bigint
  }
  | {
    /** An unsigned integer of 128 bits. */
    readonly u128: {
      /** The highest 64 bits. */
      readonly hi: bigint
      /** The lowest 64 bits. */
      readonly lo: bigint
    }
  }
  | {
    /** A signed integer of 128 bits. Only the highest part has a sign. */
    readonly i128: {
      /** The highest 64 bits. */
      readonly hi: bigint
      /** The lowest 64 bits. */
      readonly lo: bigint
    }
  }
  | {
    /** An unsigned integer of 256 bits. */
    readonly u256: {
      /** The highest 64 bits. */
      readonly hi_hi: bigint
      /** The second highest 64 bits. */
      readonly hi_lo: bigint
      /** The second lowest 64 bits. */
      readonly lo_hi: bigint
      /** The lowest 64 bits. */
      readonly lo_lo: bigint
    }
  }
  | {
    /** A signed integer of 256 bits. Only the highest part has a sign. */
    readonly i256: {
      /** The highest 64 bits. */
      readonly hi_hi: bigint
      /** The second highest 64 bits. */
      readonly hi_lo: bigint
      /** The second lowest 64 bits. */
      readonly lo_hi: bigint
      /** The lowest 64 bits. */
      readonly lo_lo: bigint
    }
  }
  | {
    /** Bytes in hex. */
    readonly bytes: string
  }
  | {
    /** A text. */
    readonly string: string
  }
  | {
    /** A symbol, such as the name of a function. */
    readonly symbol: string
  }
  | {
    /** The address of an account or a contract. */
    readonly address: string
  }
  | {
    /** The values of a vector, in their order. */
    readonly vec: ReadonlyArray<StellarValue>
  }
  | {
    /** The entries of a map, sorted by their keys. */
    readonly map: ReadonlyArray<{
      /** The key of the entry. */
      readonly key: StellarValue
      /** Its value. */
      readonly val: StellarValue
    }>
  }

/** Code of a contract. */
export type StellarWasm = 
  | {
    /** Optional. Example: `"hex"` */
    readonly type?: "hex"
    /** The code in hex. Example: `"0061736d"` */
    readonly hex: string
  }
  | {
    /** Optional. Example: `"base64"` */
    readonly type?: "base64"
    /** The code in base64. Example: `"AGFzbQ=="` */
    readonly base64: string
  }

/** The result of a test. */
export interface TestDelivery {
  /** Identifier of the delivery. Example: `"0191e9a0-7b1c-7000-8000-5e0c3f9b2d11"` */
  readonly id: string & Brand.Brand<"DeliveryId">
  /** When the attempt was made. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly at: DateTime.Utc
  /** Milliseconds until the answer, or until the attempt failed. Example: `120` */
  readonly ms: number
  /**
   * `delivered`: the receiver answered 2xx. `gone`: it answered 410. `rejected`: it answered another status.
   * `refused`: the service may not call the URL. `timeout`: no answer in time. `unreachable`: no connection.
   * `error`: a fault of the service. Example: `"delivered"`
   */
  readonly outcome: DeliveryOutcome
  /** HTTP status of the answer. Absent if there was none. Example: `204` */
  readonly status?: number
  /** The first kilobyte of the answer's body, or why there was no answer. Example: `"ok"` */
  readonly answer?: string
}

export interface TestDeliveryResponse extends ResponseEnvelope {
  /** The result of a test. */
  readonly data: TestDelivery
}

/** The body of a test webhook. */
export interface TestWebhook {
  /**
   * The same in every attempt, and the same as the header `webhook-id`. Example:
   * `"0191e9a0-7b1c-7000-8000-5e0c3f9b2d11"`
   */
  readonly id: string
  /** Always `test`. Example: `"test"` */
  readonly type: "test"
  /** Always `test`. Example: `"test"` */
  readonly event: "test"
  /** The tested notification. */
  readonly payload: {
    /** Always `test`. Example: `"test"` */
    readonly payload_type: "test"
    /** Identifier of the notification. Example: `"ops"` */
    readonly notification_id: string
  }
  /** When it happened. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly timestamp: DateTime.Utc
}

/** A price as an exact fraction. */
export interface TokenPrice {
  /** Units of the token. Example: `150000000` */
  readonly units: bigint
  /** Lamports or stroops that so many units cost. Example: `1000000000` */
  readonly native: bigint
}

/** Between which prices the relayer accepts the token. A price of a unit outside of them is not used. */
export interface TokenPriceBounds {
  /** The lowest price of a unit. Example: `{"units":300000000,"native":1000000000}` */
  readonly min: TokenPrice
  /** The highest price of a unit. Example: `{"units":75000000,"native":1000000000}` */
  readonly max: TokenPrice
}

export interface TokenSwap {
  /** Highest slippage in percent. The default is 1. Example: `1` */
  readonly slippage_percentage?: number
  /** Smallest amount to swap, in units of the token. Example: `1000000` */
  readonly min_amount?: bigint
  /** Largest amount to swap, in units of the token. Example: `1000000000` */
  readonly max_amount?: bigint
  /** Units of the token that stay on the account. Example: `1000000` */
  readonly retain_min_amount?: bigint
}

export interface TransactionBatchResponse extends ResponseEnvelope {
  /** The accepted transactions, in the order of the request. */
  readonly data: ReadonlyArray<TransactionResponse>
}

/** Why a transaction or an account is in its state. Later versions of the service may add codes. */
export type TransactionCode = KnownTransactionCode | (string & Record<never, never>)

/** Why a transaction is in its state. */
export interface TransactionExplanation {
  /** State of the transaction. Example: `"pending"` */
  readonly status: TransactionStatus
  /** What it waits for, or why it ended. Example: `"gas_price_above_cap"` */
  readonly code: TransactionCode
  /** The same as a sentence, with the figures that decide. Example: `"Its signer does not answer."` */
  readonly reason: string
  /** What happens next, and what would help. Example: `"The service checks it again with each block."` */
  readonly next: string
  /** The figures that decide. Example: `{"base_fee":"42000000000","cap":"40000000000"}` */
  readonly figures: TransactionFigures
  /** Since when it has this code. Example: `"2026-11-22T12:00:00.000Z"` */
  readonly since: DateTime.Utc
  /** When the service checks it again. Absent if it is final. Example: `"2026-11-22T12:00:02.000Z"` */
  readonly next_at?: DateTime.Utc
}

export interface TransactionExplanationResponse extends ResponseEnvelope {
  /** Why a transaction is in its state. */
  readonly data: TransactionExplanation
}

/** Base fees of the blocks in which the transaction could be mined. */
export interface TransactionFees {
  /** `gas_price_cap` of the relayer's policy now, in wei per gas. Absent if there is none. Example: `"60000000000"` */
  readonly cap?: bigint
  /**
   * Blocks from its acceptance until it was mined, or until now, in order. At most 512: if there are more, each
   * stands for as many, and is the one with the lowest base fee among them. Empty on a network without base fees.
   * Example: `[]`
   */
  readonly blocks: ReadonlyArray<BlockFee>
}

export interface TransactionFeesResponse extends ResponseEnvelope {
  /** Base fees of the blocks in which the transaction could be mined. */
  readonly data: TransactionFees
}

export interface TransactionFigures {
  /** Base fee of the next block, in wei per gas. Example: `"42000000000"` */
  readonly base_fee?: bigint
  /** Highest price that the transaction may offer, in wei per gas. Example: `"40000000000"` */
  readonly cap?: bigint
  /** Highest price that the newest attempt offers, in wei per gas. Example: `"39000000000"` */
  readonly price?: bigint
  /** What limits the price: the request, the policy, the API key, or the first attempt. Example: `"given"` */
  readonly limit?: PriceLimit
  /** Gas limit that the request gives. Example: `"40000000"` */
  readonly gas_limit?: bigint
  /** Gas limit of the newest block. Example: `"30000000"` */
  readonly block_gas_limit?: bigint
  /** Wei that the account needs for this transaction. Example: `"1050000000000000"` */
  readonly required?: bigint
  /** Wei on the account that no transaction in flight reserves. Example: `"900000000000000"` */
  readonly available?: bigint
  /** Wei that the transactions in flight may cost. Example: `"100000000000000"` */
  readonly reserved?: bigint
  /** Wei that must stay on the account. Example: `"1000000000000000"` */
  readonly minimum?: bigint
  /** Blocks on top of the transaction's block. Example: `3` */
  readonly blocks?: number
  /** Blocks on top of a block that make it final. Example: `12` */
  readonly required_blocks?: number
  /** Height of the transaction's block. Example: `19000000` */
  readonly block?: number
  /** Height of the newest block that any provider shows. Example: `19000012` */
  readonly newest_block?: number
  /** Since when no provider has shown a newer block. Example: `"2026-11-22T11:58:00.000Z"` */
  readonly stalled_since?: number
  /**
   * RPC provider, masked. With `accepted_not_included` and `dropped_by_node`: the providers that accepted it,
   * separated by commas. Example: `"https://rpc.example.com/***"`
   */
  readonly host?: string
  /** Nonce of the transaction. Example: `7` */
  readonly nonce?: number
  /** Nonce that the lane assigns next. Example: `7` */
  readonly next_nonce?: number
  /** Nonce that the request requires. Example: `9` */
  readonly required_nonce?: number
  /** Nonce of the transaction that this one waits for. Absent: it has none. Example: `6` */
  readonly front_nonce?: number
  /**
   * Id of the transaction that this one waits for. Absent if the API key cannot use its relayer. Example:
   * `"4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"`
   */
  readonly front_id?: string & Brand.Brand<"TransactionId">
  /** Code of the transaction that this one waits for. Example: `"gas_price_above_cap"` */
  readonly front_code?: TransactionCode
  /** Transactions that the chain counts for the account. Example: `12` */
  readonly count?: number
  /** Transactions of the lane that may be in flight at once. Example: `64` */
  readonly window?: number
  /** Transactions of the lane that are in flight. Example: `64` */
  readonly in_flight?: number
  /** Transactions ahead in the lane. Example: `2` */
  readonly position?: number
  /**
   * Hash of the no-op, or of the transaction that used the nonce. Example:
   * `"0x5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c"`
   */
  readonly hash?: string
  /** How often the newest attempt was sent. Example: `2` */
  readonly sends?: number
  /** When the wait ends at the latest. Example: `"2026-11-22T18:00:00.000Z"` */
  readonly until?: number
  /** What an operator has decided. Example: `"give_up"` */
  readonly answer?: "give_up"
  /** Fee in lamports. Example: `"5020"` */
  readonly fee?: bigint
  /** Slot of the transaction. Example: `300000000` */
  readonly slot?: number
  /** Last block height at which the signed bytes can land. Example: `280000150` */
  readonly bound?: number
  /** Signed versions of the transaction. Example: `20` */
  readonly attempts?: number
  /** When one provider decides alone. Example: `"2026-11-22T19:00:00.000Z"` */
  readonly decides_at?: number
  /** Sequence of the transaction, or of the account. Example: `"257698037760000001"` */
  readonly sequence?: bigint
  /** Sequence that the request requires. Example: `"257698037760000003"` */
  readonly required_sequence?: bigint
  /** Ledger that shows it. Example: `60000000` */
  readonly ledger?: number
  /** Newest ledger of the provider that is behind. Example: `59999998` */
  readonly other_ledger?: number
  /** Close time of the newest ledger. Example: `"2026-11-22T18:00:00.000Z"` */
  readonly close_time?: number
  /** Clock of the service. Example: `"2026-11-22T19:00:00.000Z"` */
  readonly clock?: number
  /** How often in a row nodes said so. Example: `3` */
  readonly times?: number
  /** Error of the chain or of the simulation. Example: `"insufficient funds"` */
  readonly error?: string
  /** Decoded reason of the revert. Example: `"transfer amount exceeds balance"` */
  readonly revert_reason?: string
}

/**
 * What an API key may send, per network type. `max_value`, `max_fee_per_day` and `receivers` are those of evm:
 * if all three are absent, the key may send nothing on evm networks.
 */
export interface TransactionLimits {
  /** Most wei that one transaction may send on evm networks. Example: `"1000000000000000000"` */
  readonly max_value?: bigint
  /**
   * Most wei that transactions may pay in fees on evm networks within 24 hours. Transactions of keys that this key
   * created count as well. Example: `"50000000000000000"`
   */
  readonly max_fee_per_day?: bigint
  /**
   * Receivers that it may send to on evm networks; `contract_creation` allows creations. If absent, all. Example:
   * `["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"]`
   */
  readonly receivers?: ReadonlyArray<string | "contract_creation">
  /**
   * What it may send on solana networks. If absent, nothing; if empty, everything that policies allow. Example:
   * `{"max_value":"2000000000","max_fee_per_day":"50000000"}`
   */
  readonly solana?: SolanaTransactionLimits
  /**
   * What it may send on stellar networks. If absent, nothing; if empty, everything that policies allow. Example:
   * `{"max_value":"1000000000","max_fee_per_day":"10000000"}`
   */
  readonly stellar?: StellarTransactionLimits
}

/** Why nodes refused the bytes of an attempt. */
export interface TransactionRefusal {
  /**
   * Kind of the refusal. On evm: `nonce` (it is used), `bump` (another transaction at the nonce offers too much),
   * `price`, `order` (a predecessor is missing), `funds`, `window` (the pool has too many of the account),
   * `permanent`, `unknown`. On stellar: `not_now`, `look` (the sequence is used), `too_late`, `fee`, `funds`,
   * `resources`, `permanent`. On solana: `permanent`. Example: `"price"`
   */
  readonly class: string
  /**
   * What a node wanted at least: on evm wei per gas of priority fee, on stellar the fee in stroops. Example:
   * `"1000000000"`
   */
  readonly needed?: bigint
  /**
   * What a node said, on evm. Only if the service does not know the words. Example: `"sender account not
   * authorized"`
   */
  readonly words?: string
  /** Name of the result, on stellar. Example: `"txInsufficientFee"` */
  readonly result?: string
}

/** A transaction, as its network type shows it. */
export type TransactionResponse = EvmTransactionResponse | SolanaTransactionResponse | StellarTransactionResponse | OtherTransactionResponse

export interface TransactionResponseListResponse extends ResponseEnvelope {
  /** The items of this page. */
  readonly data: ReadonlyArray<TransactionResponse>
}

export interface TransactionResponsePageOrListResponse extends ResponseEnvelope {
  /** The items of this page. */
  readonly data: ReadonlyArray<TransactionResponse>
  /** The page that was served and the number of all items. */
  readonly pagination?: Pagination
}

export interface TransactionResponseResponse extends ResponseEnvelope {
  /** A transaction, as its network type shows it. */
  readonly data: TransactionResponse
}

/** What a send would do and cost now. */
export interface TransactionSimulation {
  /** Whether a send of this request would be accepted now. Example: `true` */
  readonly is_accepted: boolean
  /** Why it would be refused, held, or fail. Example: `[]` */
  readonly problems: ReadonlyArray<SimulationProblem>
  /** Whether the call reverts now. Absent if no provider answered. Example: `false` */
  readonly would_revert?: boolean
  /** Decoded reason of the revert. Example: `"transfer amount exceeds balance"` */
  readonly revert_reason?: string
  /** Gas that the call uses now. Example: `"21000"` */
  readonly gas_used?: bigint
  /** Gas limit that the transaction would get. Example: `21000` */
  readonly gas_limit?: number
  /**
   * At the price in the request, or at the price of its speed. Example:
   * `{"gas_price":"30000000000","max_cost":"630000000000000"}`
   */
  readonly price?: SimulatedPrice
  /**
   * Per speed, within the relayer's cap. Example:
   * `{"safeLow":{"gas_price":"30000000000","max_cost":"630000000000000"},"average":{"gas_price":"30000000000","max_cost":"630000000000000"},"fast":{"gas_price":"30000000000","max_cost":"630000000000000"},"fastest":{"gas_price":"30000000000","max_cost":"630000000000000"}}`
   */
  readonly prices?: SimulatedPrices
  /**
   * Most wei that a rollup can charge for the data, besides gas: twice what it charges now. Absent if the chain
   * includes it in gas. Example: `"120000000000"`
   */
  readonly data_fee?: bigint
  /**
   * Most wei that an OP-stack chain can charge for its operator, besides gas. Absent if it charges none. Example:
   * `"4000000000"`
   */
  readonly operator_fee?: bigint
  /** Base fee of the next block, in wei per gas. Example: `"25000000000"` */
  readonly base_fee?: bigint
  /** Wei on the account. Example: `"2000000000000000000"` */
  readonly balance?: bigint
  /** Wei that the open transactions of the account can cost. Example: `"0"` */
  readonly reserved: bigint
}

/** Final transactions by steps of time, and open ones. */
export interface TransactionStatistics {
  /** All steps, the oldest first. Example: `[]` */
  readonly steps: ReadonlyArray<TransactionStep>
  /** What is open now. */
  readonly open: OpenCounts
}

export interface TransactionStatisticsResponse extends ResponseEnvelope {
  /** Final transactions by steps of time, and open ones. */
  readonly data: TransactionStatistics
}

export type TransactionStatus = "pending" | "sent" | "submitted" | "mined" | "confirmed" | "failed" | "canceled" | "expired"

/** Transactions that became final in a step of time. */
export interface TransactionStep {
  /** Beginning of the step. Example: `"2026-01-02T03:04:00.000Z"` */
  readonly at: DateTime.Utc
  /** Transactions that became final in the step. */
  readonly final: FinalCounts
  /**
   * Milliseconds from acceptance to confirmation, of half of those confirmed in the step at most. Absent if none
   * was. Example: `14000`
   */
  readonly p50_ms?: number
  /** The same of 95 % of them. Example: `31000` */
  readonly p95_ms?: number
}

/** The body of a webhook about a transaction. */
export interface TransactionWebhook {
  /**
   * The same in every attempt, and the same as the header `webhook-id`. Example:
   * `"0191e9a0-7b1c-7000-8000-5e0c3f9b2d11"`
   */
  readonly id: string
  /** What happened, as in `type` of the event feed. Example: `"transaction.created"` */
  readonly type: 
    | "transaction.created"
    | "transaction.signed"
    | "transaction.submitted"
    | "transaction.replaced"
    | "transaction.held"
    | "transaction.mined"
    | "transaction.reorged"
    | "transaction.reorged_final"
    | "transaction.confirmed"
    | "transaction.failed"
    | "transaction.canceled"
    | "transaction.expired"
  /** Group of the event, for receivers of other services. `type` says more. Example: `"transaction_update"` */
  readonly event: "transaction_update"
  /** The transaction after the event, without `signature`. */
  readonly payload: EvmTransactionPayload | SolanaTransactionPayload | StellarTransactionPayload | OtherTransactionPayload
  /** When it happened. Example: `"2026-01-02T03:04:05.678Z"` */
  readonly timestamp: DateTime.Utc
}

export interface TurnkeySigner {
  /** Identifier of the signer. Example: `"hot-1"` */
  readonly id: string & Brand.Brand<"SignerId">
  /** Where the key is stored. Example: `"turnkey"` */
  readonly type: "turnkey"
  /** The configuration without its secrets. */
  readonly config: {
    /**
     * Public key of the API key, in hex. Example:
     * `"02f739f8c77b32f4d5f13265861febd76e7a9c61a1140d296b8c16302508870316"`
     */
    readonly api_public_key: string
    /** The organization. Example: `"2a1f3c7e-1111-4222-8333-444455556666"` */
    readonly organization_id: string
    /** Id of the private key, or the address of a wallet account. Example: `"6b8b4d1e-5555-4666-8777-888899990000"` */
    readonly private_key_id: string
    /**
     * Public key in hex: 65 or 33 bytes on secp256k1, 32 bytes on ed25519. A probe checks it. Example:
     * `"04c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee51ae168fea63dc339a3c58419466ceaeef7f632653266d0e1236431a950cfe52a"`
     */
    readonly public_key: string
  }
  /** Curve of a signature: secp256k1 for evm, ed25519 for solana and stellar. Example: `"secp256k1"` */
  readonly curve: Curve
  /**
   * The public key in hex: the uncompressed point of 65 bytes for secp256k1, 32 bytes for ed25519. An addition to
   * the common wire format. Example: `"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"`
   */
  readonly public_key: string
  /** The addresses of the key on the network types of its curve. */
  readonly addresses: SignerAddressesOfCurve
  /** Why the service no longer signs with the key. A successful verification enables the signer again. */
  readonly disabled_reason?: SignerDisabledReason
  /**
   * The configuration that owns the resource: its next apply reverts other changes. Absent while no configuration
   * owns it. Example: `"payments"`
   */
  readonly managed_by?: string
}

/** Domain that typed data belongs to (EIP-712). */
export interface TypedDataDomain {
  /** Name of the application. Example: `"Example"` */
  readonly name?: string
  /** Version of the application. Example: `"1"` */
  readonly version?: string
  /** Chain id (EIP-155). Example: `1` */
  readonly chainId?: number
  /** Contract that checks the signature. Example: `"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"` */
  readonly verifyingContract?: string
  /**
   * Distinguishes domains that are otherwise the same. Example:
   * `"0x5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c"`
   */
  readonly salt?: string
}

/** A member of a type. */
export interface TypedDataMember {
  /** Name of the member. Example: `"owner"` */
  readonly name: string
  /** Solidity type of the member, or the name of another type. Example: `"address"` */
  readonly type: string
}

/** A row that is missing among the items of a list. */
export interface UnreadableRow {
  /** Identifier of the resource. Example: `"payouts"` */
  readonly id: string
  /** Why it cannot be read, and what to do. Example: `"it was written by another version"` */
  readonly reason: string
}

export interface UpdateApiKeyRequest {
  /** Name of the key, for people. Example: `"Payout service"` */
  readonly name?: string
  /** What the key may do. Example: `["relayers:read","relayers:write"]` */
  readonly scopes?: ReadonlyArray<Scope>
  /** The only relayers that the key can use. Null: all relayers, including later ones. Example: `["payouts"]` */
  readonly relayer_ids?: ReadonlyArray<string> | null
  /** When the key expires. Null: it does not expire. Example: `"2030-01-01T00:00:00Z"` */
  readonly expires_at?: DateTime.Utc | null
  /**
   * A merge patch of `transaction_limits`. Null removes all limits. Example:
   * `{"max_value":"1000000000000000000","max_fee_per_day":"50000000000000000","solana":{"max_value":"2000000000","max_fee_per_day":"50000000"}}`
   */
  readonly transaction_limits?: { readonly [key: string]: unknown } | null
  readonly id?: never
  readonly key?: never
  readonly created_at?: never
  readonly created_by?: never
  readonly previous_expires_at?: never
  readonly last_used_at?: never
  readonly last_used_from?: never
  readonly managed_by?: never
}

export interface UpdateNetworkRequest {
  /**
   * Network of the same type that this one inherits from. Not for built-in networks. Null restores the inherited
   * or built-in value. Example: `"sepolia"`
   */
  readonly from?: string | null
  /**
   * Providers of the chain, for relayers without their own. Null restores the inherited or built-in value.
   * Example: `["https://rpc.example.com/v1/my-key"]`
   */
  readonly rpc_urls?: ReadonlyArray<RpcConfigRequest> | null
  /**
   * Block explorers, for people. Null restores the inherited or built-in value. Example:
   * `["https://sepolia.etherscan.io"]`
   */
  readonly explorer_urls?: ReadonlyArray<string> | null
  /** Milliseconds between two blocks, on average. Null restores the inherited or built-in value. Example: `12000` */
  readonly average_blocktime_ms?: number | null
  /** Whether the network is a testnet. Null restores the inherited or built-in value. Example: `true` */
  readonly is_testnet?: boolean | null
  /** Labels, for people. Null restores the inherited or built-in value. Example: `["staging"]` */
  readonly tags?: ReadonlyArray<string> | null
  /**
   * How long no second RPC URL has an opinion about a transaction before the one that is left decides alone that
   * it is final: a number of minutes, hours or days, or `never`. The default is `1h`. With two RPC URLs, a
   * duration is safe if one of them lies or one of them is silent, but not both. Null restores the inherited or
   * built-in value. Example: `"1h"`
   */
  readonly finality_by_one?: string | null
  /**
   * Blocks that must follow the block of a transaction before it is final. Null restores the inherited or built-in
   * value. Example: `6`
   */
  readonly required_confirmations?: number | null
  /**
   * Block tag that makes a transaction final, instead of `required_confirmations`. Null restores the inherited or
   * built-in value. Example: `"finalized"`
   */
  readonly finality_tag?: "safe" | "finalized" | null
  /**
   * Transactions of one account that may be in flight at once. The default is 64, and 4 with `no-mempool`. At most
   * 10,000, and 1,000 on solana. Null restores the inherited or built-in value. Example: `64`
   */
  readonly transaction_window?: number | null
  /**
   * Wei per gas that the nodes of the network demand as a priority fee. Null restores the inherited or built-in
   * value. Example: `25000000000`
   */
  readonly minimum_priority_fee?: number | null
  /**
   * Wei per gas that the service offers at most as a priority fee, unless the request gives it. If absent, ten
   * times the base fee, but at least 100 gwei, is the limit for relayers without a `gas_price_cap`. Null restores
   * the inherited or built-in value. Example: `200000000000`
   */
  readonly tip_cap?: number | null
  /**
   * JSON-RPC methods that `POST /relayers/{relayer_id}/rpc` passes on. If absent, methods that only read. No list
   * lets it pass `sendTransaction` of stellar on. Null restores the inherited or built-in value. Example:
   * `["eth_call","eth_getLogs"]`
   */
  readonly rpc_methods?: ReadonlyArray<string> | null
  /**
   * Capabilities of the chain. `eip1559`: fees are priced by EIP-1559. `no-mempool`: nodes keep no transaction
   * whose predecessor is missing. `eip7825`: a transaction has at most 2^24 gas. `optimism-based`: data has a fee
   * besides gas, which a contract of the chain names. Null restores the inherited or built-in value. Example:
   * `["eip1559"]`
   */
  readonly features?: ReadonlyArray<string> | null
  /** Symbol of the native token. Null restores the inherited or built-in value. Example: `"ETH"` */
  readonly symbol?: string | null
  /**
   * URL of the Horizon server. Null restores the inherited or built-in value. Example:
   * `"https://horizon-testnet.stellar.org"`
   */
  readonly horizon_url?: string | null
  /**
   * Contract whose `forward` passes a call on and takes the fee of the relayer in a token. If absent, users cannot
   * pay for calls of contracts in a token. Null restores the inherited or built-in value. Example:
   * `"CA3D5KRYM6CB7OWQ6TWYRR3Z4T7GNZLKERYNZGGA5SOAOPIFY6YQGAXE"`
   */
  readonly fee_forwarder?: string | null
  readonly id?: never
  readonly name?: never
  readonly network_type?: never
  readonly source?: never
  readonly managed_by?: never
  readonly chain_id?: never
  readonly passphrase?: never
}

export interface UpdateNotificationRequest {
  /** Kind of the notification. Example: `"webhook"` */
  readonly type?: "webhook"
  /** URL of the receiver. Example: `"https://hooks.example.com/relayer"` */
  readonly url?: string
  /**
   * A new key. The previous key stays valid for 24 hours. An empty text removes both. Best is `whsec_` and base64:
   * the libraries of Standard Webhooks take this form as it is. A text without `whsec_` signs with its own bytes:
   * these libraries decode it as base64 unless they get `{ format: "raw" }` (npm) or the bytes of the text
   * (Python). Example: `"whsec_s5oh4Mz2iFKXvYqrmfTBLGPqBZCsjYuDwYCOjhGgyOA="`
   */
  readonly signing_key?: "" | Redacted.Redacted<string>
  /** Whether deliveries are held back. Example: `true` */
  readonly paused?: boolean
}

export interface UpdateRelayerRequest {
  /** Name of the relayer, for people. Example: `"Payouts"` */
  readonly name?: string
  /** Whether the operator has paused the relayer. Example: `false` */
  readonly paused?: boolean
  /** Notification that gets the webhooks of the relayer. Null removes it. Example: `"ops"` */
  readonly notification_id?: string | null
  /**
   * Providers of the relayer, replaced as a whole. The n-th occurrence of a masked URL stands for the n-th stored
   * URL with that mask. Null removes them. Example: `[{"url":"https://rpc.example.com/v1/my-key","weight":100}]`
   */
  readonly custom_rpc_urls?: ReadonlyArray<RpcConfigRequest> | null
  /**
   * A merge patch of the policy of the relayer's network type. Null removes the policy. Example:
   * `{"min_balance":"200000000000000000","gas_price_cap":null}`
   */
  readonly policies?: { readonly [key: string]: unknown } | null
  readonly id?: never
  readonly network?: never
  readonly network_type?: never
  readonly signer_id?: never
  readonly address?: never
  readonly system_disabled?: never
  readonly disabled_reason?: never
  readonly managed_by?: never
  readonly health?: never
}

export interface VaultSigner {
  /** Identifier of the signer. Example: `"hot-1"` */
  readonly id: string & Brand.Brand<"SignerId">
  /** Where the key is stored. Example: `"vault"` */
  readonly type: "vault"
  /** The configuration without its secrets. */
  readonly config: {
    /** URL of Vault. It may have a path if Vault is behind a proxy. Example: `"https://vault.example.com"` */
    readonly address: string
    /** Namespace in Vault Enterprise. Example: `"team-a"` */
    readonly namespace?: string
    /** Name or path of the key. Example: `"hot-1"` */
    readonly key_name: string
    /** Mount point of the engine. Example: `"secret"` */
    readonly mount_point: string
  }
  /** The address of the key on each network type. */
  readonly addresses: SignerAddresses
  /**
   * The configuration that owns the resource: its next apply reverts other changes. Absent while no configuration
   * owns it. Example: `"payments"`
   */
  readonly managed_by?: string
}

export interface VaultTransitSigner {
  /** Identifier of the signer. Example: `"hot-1"` */
  readonly id: string & Brand.Brand<"SignerId">
  /** Where the key is stored. Example: `"vault_transit"` */
  readonly type: "vault_transit"
  /** The configuration without its secrets. */
  readonly config: {
    /** URL of Vault. It may have a path if Vault is behind a proxy. Example: `"https://vault.example.com"` */
    readonly address: string
    /** Namespace in Vault Enterprise. Example: `"team-a"` */
    readonly namespace?: string
    /** Name or path of the key. Example: `"hot-1"` */
    readonly key_name: string
    /** Mount point of the engine. Example: `"secret"` */
    readonly mount_point: string
    /** The ed25519 public key: 32 bytes as base64. Example: `"11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="` */
    readonly pubkey: string
  }
  /** The address of the key on each network type of its curve. */
  readonly addresses: Ed25519SignerAddresses
  /**
   * The configuration that owns the resource: its next apply reverts other changes. Absent while no configuration
   * owns it. Example: `"payments"`
   */
  readonly managed_by?: string
}

/** The body of a webhook. */
export type WebhookPayload = 
  | RelayerChangedWebhook
  | RelayerStateWebhook
  | RelayerDisabledWebhook
  | RelayerEnabledWebhook
  | TransactionWebhook
  | TestWebhook
