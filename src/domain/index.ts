// What a host program or a client imports of the domain: schemas, identifiers, errors and types.
export {
  ApiKey,
  ApiKeyId,
  ApiKeyNotFound,
  CreateApiKey,
  NewApiKey,
  RotateApiKey,
  TooManyApiKeys
} from "./access/ApiKey.ts"
export { CurrentCaller, Forbidden, TooManyRequests, Unauthorized } from "./access/Caller.ts"
export type { Caller } from "./access/Caller.ts"
export { Grant, Scope } from "./access/ApiKey.ts"
export { AttentionItem, AttentionKind } from "./attention/Attention.ts"
export { AuditHead, AuditRecord, AuditVerification } from "./audit/Audit.ts"
export { AuditCheckpoint, AuditCheckpointNotFound, AuditExportRecord, PruneAudit } from "./audit/Audit.ts"
export { Action, AuditResource, KnownAction, KnownAuditResource } from "./audit/Audit.ts"
export { Claim, ClaimFinal, ClaimHeld, ClaimLapsed, ClaimName, ClaimNotFound, ClaimRequest } from "./claim/Claim.ts"
export { PositiveUint64, Uint64, Uint128, Uint256 } from "./chain/Amount.ts"
export { MaskedRpcConfig, RpcConfig } from "./chain/Rpc.ts"
export { Event, EventType, KnownEventType } from "./event/Event.ts"
export { HealthStatus } from "./health/ListedHealth.ts"
export { HealthCode, RelayerExplanation } from "./health/HealthExplanation.ts"
export { MasterKeyRotation, RotationRunning } from "./masterKey/MasterKey.ts"
export { Network, NetworkIdTaken, NetworkInUse, NetworkNotFound } from "./network/Network.ts"
export { NetworkId, NetworkName, NetworkType } from "./network/Network.ts"
export { CreateNetwork, UpdateNetwork } from "./network/Network.ts"
export {
  Delivery,
  DeliveryAttempt,
  DeliveryId,
  DeliveryNotFound,
  DeliveryOutcome,
  DeliveryState,
  ReplayDeliveries,
  ReplayedDeliveries,
  TestDelivery
} from "./notification/Delivery.ts"
export {
  CreateNotification,
  Notification,
  NotificationId,
  NotificationIdTaken,
  NotificationInUse,
  NotificationNotFound,
  UpdateNotification
} from "./notification/Notification.ts"
export { Webhook } from "./notification/Webhook.ts"
export { EvmPolicy, SolanaPolicy, StellarPolicy } from "./relayer/Policy.ts"
export {
  CreateRelayer,
  DisabledReason,
  Relayer,
  RelayerId,
  RehearsalTooLarge,
  RelayerIdTaken,
  RelayerIsChannel,
  RelayerInUse,
  RelayerName,
  RelayerNotFound,
  UpdateRelayer
} from "./relayer/Relayer.ts"
export { RelayerBalance, RelayerStatus } from "./relayer/Relayer.ts"
export { IdempotencyKey, IdempotencyKeyBusy, IdempotencyKeyReused } from "./request/Request.ts"
export { Instant } from "./request/Shown.ts"
export type { Items, Page } from "./request/Page.ts"
export {
  BadRequest,
  BadGateway,
  InternalServerError,
  MethodNotAllowed,
  NotFound,
  NotImplemented,
  PayloadTooLarge,
  ServiceUnavailable,
  UnsupportedMediaType
} from "./request/Request.ts"
export { PreconditionFailed } from "./request/Request.ts"
export type { Versioned } from "./request/Request.ts"
export { CreateSigner } from "./signer/CreateSigner.ts"
export { Signer, SignerIdTaken, SignerInUse, SignerKeyTaken, SignerNotFound } from "./signer/Signer.ts"
export { SignerAddresses } from "./signer/Signer.ts"
export { SignerId } from "./signer/Signer.ts"
export { Verification } from "./signer/Signer.ts"
export { RelayerPaused } from "../networks/core/TransactionLimits.ts"
export { TransactionConflict } from "../networks/core/Rules.ts"
export { Delegate, Delegation, DelegationChange } from "../networks/evm/rules/DelegationSchemas.ts"
export { EvmTransaction } from "../networks/evm/rules/EvmSchemas.ts"
export { TransactionId, TransactionNotFound, TransactionStatus } from "../networks/core/TransactionValues.ts"
export { Rehearsal, RehearsePolicy } from "../networks/evm/rules/Hindsight.ts"
export type { TransactionFees } from "../networks/evm/rules/Hindsight.ts"
export { ClearedNonces, ClearNonces, NonceDecision, NonceState } from "../networks/evm/rules/EvmSchemas.ts"
export { ReplaceEvmTransaction, SendEvmTransaction } from "../networks/evm/rules/EvmSchemas.ts"
export { EvmSignature, SignMessage, SignTypedData } from "../networks/evm/rules/EvmMessages.ts"
export { Simulation } from "../networks/evm/rules/EvmSchemas.ts"
export { TransactionLimitExceeded, TransactionLimits } from "../networks/core/TransactionLimits.ts"
export { ResyncNonce, TransactionExplanation } from "../networks/core/TransactionRequests.ts"
export {
  BuildSolanaTransaction,
  BuiltSolanaTransaction,
  QuoteSolanaTransaction,
  ReplaceSolanaTransaction,
  SendSolanaTransaction,
  SignedSolanaTransaction,
  SignSolanaTransaction,
  SolanaLaneState,
  SolanaQuote,
  SolanaSimulation,
  SolanaTransactionResponse as SolanaTransaction
} from "../networks/solana/rules/SolanaExchanges.ts"
export {
  BuildStellarTransaction,
  BuiltStellarTransaction,
  QuoteStellarTransaction,
  ReplaceStellarTransaction,
  SendStellarTransaction,
  SignedStellarTransaction,
  SignStellarTransaction,
  StellarQuote
} from "../networks/stellar/rules/StellarRequests.ts"
export {
  StellarNonceState,
  StellarSimulation,
  StellarTransactionResponse as StellarTransaction
} from "../networks/stellar/rules/StellarResponses.ts"
// By network type, as the services of a host program take and return them.
export type {
  ExchangeBody,
  Family,
  ShownExchange,
  ShownSequences,
  ShownSimulation,
  ShownTransaction,
  TransactionBody,
  TransactionReplacement
} from "../networks/core/Family.ts"
