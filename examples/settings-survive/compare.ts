/** Three policies in two outages. */
import type { PolicyModel, VariantStudy } from 'yaoki/sim'
import { createStockPolicy } from './policy.ts'
import { FAILOVER, SLOW, shop } from './stock.ts'

const retries = { retry: { maxRetries: 3, baseDelayMs: 100 } }
const today: PolicyModel = [retries, { timeoutMs: 500 }]
const tuned: PolicyModel = [retries, { circuitBreaker: { resetBackoff: {} } }, { timeoutMs: 500 }]
const better: PolicyModel = ({ runtime }) => createStockPolicy(runtime)

const study: VariantStudy = {
	title: 'Which policy survives?',
	variants: {
		'slow, today': shop(today, SLOW),
		'slow, tuned': shop(tuned, SLOW),
		'slow, better': shop(better, SLOW),
		'failover, today': shop(today, FAILOVER),
		'failover, tuned': shop(tuned, FAILOVER),
		'failover, better': shop(better, FAILOVER),
	},
	measures: ['goodShare', 'amplification', 'recoveredAfterMs'],
	replications: 5,
}

export default study
