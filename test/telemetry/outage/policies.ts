/** Calls that do not use HTTP: every policy has something to do in each round. */
import {
	adaptiveThrottle,
	bulkhead,
	circuitBreaker,
	Deadline,
	fallback,
	hedge,
	keyed,
	type Policy,
	pipeline,
	rateLimiter,
	retry,
	retryBudget,
	timeout,
} from '../../../src/core/index.ts'

const never = ({ signal }: { readonly signal: AbortSignal }) =>
	new Promise<never>((_resolve, reject) => {
		signal.addEventListener('abort', () => reject(signal.reason))
	})
const fails = () => Promise.reject(new Error('the ledger is locked'))
const ignore = () => undefined

export function createPolicies() {
	const ledger = pipeline(
		{ name: 'ledger' },
		circuitBreaker({ failureThreshold: 1_000 }),
		retry({ maxRetries: 2, baseDelayMs: 1, maxDelayMs: 2, budget: retryBudget() }),
		timeout(5),
	)
	const search = pipeline({ name: 'search' }, fallback([]), hedge({ delayMs: 1, maxHedges: 1 }))
	const printer = pipeline(
		{ name: 'printer' },
		bulkhead({ maxConcurrent: 1, maxQueue: 1 }),
		rateLimiter({ limit: 100_000 }),
		adaptiveThrottle(),
	)
	/** One policy per tenant, and more tenants than the exporters have series for. */
	const tenants = keyed(
		({ key = '' }) => key,
		() => bulkhead({ maxConcurrent: 5 }),
	)
	return { ledger, search, printer, tenants } satisfies Record<string, Policy<unknown>>
}

type Policies = ReturnType<typeof createPolicies>

/** Runs every policy into its limit once. */
export async function runPolicies({ ledger, search, printer }: Policies): Promise<void> {
	let attempts = 0
	const failsOnce = async () => {
		if (attempts++ === 0) throw new Error('the ledger is locked')
	}
	const yields = () => new Promise<void>((resolve) => setTimeout(resolve, 5))
	await Promise.all([
		// On a busy machine it may time out as well.
		ledger.execute(failsOnce).catch(ignore),
		ledger.execute(fails).catch(ignore),
		ledger.execute(never).catch(ignore),
		ledger.execute(never, { deadline: Deadline.after(1) }).catch(ignore),
		search.execute(yields),
		search.execute(fails),
		...[1, 2, 3, 4].map(() => printer.execute(yields).catch(ignore)),
	])
}

export async function runTenants({ tenants }: Policies, count: number): Promise<void> {
	for (let tenant = 0; tenant < count; tenant++)
		await tenants.execute(() => undefined, { key: `tenant-${tenant}` })
}
