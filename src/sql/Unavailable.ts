// Whether a query failed because the database is unavailable or too busy.
import { SqlError } from "effect/sql"

const reasons = new Set(["ConnectionError", "AuthenticationError", "LockTimeoutError", "StatementTimeoutError"])

/**
 * SQLSTATEs that the driver does not classify: read-only (25006), out of resources such as disk space (53), shut down, crashed or
 * starting (57P01 to 57P03), and I/O errors (58030).
 */
const states = /^(25006|53...|57P0[1-3]|58030)$/

/** Whether the query itself is correct and may be retried. */
export const isUnavailable = (defect: unknown): boolean =>
  SqlError.isSqlError(defect) &&
  (reasons.has(defect.reason._tag) ||
    states.test(String((defect.reason.cause as { readonly code?: unknown } | null)?.code)))
