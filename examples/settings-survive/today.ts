/** The policy of today, while the stock service is slow. */
import { SLOW, shop } from './stock.ts'

export default shop([{ retry: { maxRetries: 3, baseDelayMs: 100 } }, { timeoutMs: 500 }], SLOW)
