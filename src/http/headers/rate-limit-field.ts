/**
 * Reads the `RateLimit` field and its `RateLimit-Policy`, both in the current form of draft-ietf-httpapi-ratelimit-headers (a list of
 * named policies) and in the form of draft 7 (a dictionary), which many servers still send. Of several policies the most restrictive
 * one is returned, because a caller waits for one reset. Policies that count bytes or concurrent requests are skipped, because callers
 * count requests; so are policies without a reset time.
 */
import { type Item, parseDictionary, parseList } from './structured-fields.ts'

/** What a response says about the caller's quota. */
export interface QuotaReport {
	/** How many more requests the server accepts before the reset. An integer. */
	readonly remaining: number
	/** Time from this response until the quota is full again. */
	readonly resetMs: number
	/** Requests allowed per window. */
	readonly limit?: number | undefined
	/** Length of a window. */
	readonly windowMs?: number | undefined
}

/**
 * Returns the parts as a report, or undefined if a required part is missing or any part is malformed. Parsers pass undefined for a
 * missing part and NaN for a malformed one, so only this function checks, and a server with one malformed header is not half believed.
 */
export function validReport(
	parts: {
		readonly [part in keyof QuotaReport]: number | undefined
	},
): QuotaReport | undefined {
	const { remaining, resetMs, limit, windowMs } = parts
	if (remaining === undefined || resetMs === undefined) return undefined
	return Number.isNaN(remaining + resetMs + (limit ?? 0) + (windowMs ?? 0))
		? undefined
		: { remaining, resetMs, limit, windowMs }
}

const SECOND_MS = 1_000

/** Returns an integer of at least `min`, or NaN. */
export const readInteger = (value: unknown, min = 0): number =>
	typeof value === 'number' && value >= min ? value : Number.NaN

/** Returns an optional parameter; undefined if it is absent. */
const parameter = ({ parameters }: Item, name: string, min = 0): number | undefined =>
	parameters.has(name) ? readInteger(parameters.get(name), min) : undefined

const inMs = (seconds: number | undefined): number | undefined =>
	seconds === undefined ? undefined : seconds * SECOND_MS

const windowOf = (policy: Item | undefined): number | undefined => policy && inMs(parameter(policy, 'w', 1))

/** Reads `RateLimit` (`value`) and `RateLimit-Policy` (`policy`). Returns undefined if malformed or not about requests. */
export function readRateLimit(value: string, policy: string | null): QuotaReport | undefined {
	const policies = policy === null ? [] : parseList(policy)
	if (policies === undefined) return undefined
	const limits = parseList(value)
	if (limits) return mostRestrictive(limits, policies)
	const fields = parseDictionary(value)
	return fields && fromDictionary(fields, policies)
}

function mostRestrictive(limits: readonly Item[], policies: readonly Item[]): QuotaReport | undefined {
	const policyOf = new Map<Item['value'], Item>()
	for (const policy of policies) if (!policyOf.has(policy.value)) policyOf.set(policy.value, policy)
	let first: QuotaReport | undefined
	for (const item of limits) {
		const policy = policyOf.get(item.value)
		const report = validReport({
			remaining: typeof item.value === 'string' ? readInteger(item.parameters.get('r')) : Number.NaN,
			resetMs: item.parameters.has('t') ? inMs(parameter(item, 't')) : Number.POSITIVE_INFINITY,
			limit: policy && readInteger(policy.parameters.get('q')),
			windowMs: windowOf(policy),
		})
		if (report === undefined) return undefined
		const countsRequests = !policy?.parameters.has('qu') || policy.parameters.get('qu') === 'requests'
		if (countsRequests && Number.isFinite(report.resetMs) && isStricter(report, first)) first = report
	}
	return first
}

const isStricter = (one: QuotaReport, other: QuotaReport | undefined): boolean =>
	other === undefined ||
	one.remaining < other.remaining ||
	(one.remaining === other.remaining && one.resetMs > other.resetMs)

function fromDictionary(fields: readonly Item[], policies: readonly Item[]): QuotaReport | undefined {
	const named = (name: string): number | undefined => {
		const field = fields.findLast(({ key }) => key === name)
		return field && readInteger(field.value)
	}
	const limit = named('limit')
	return validReport({
		remaining: named('remaining'),
		resetMs: inMs(named('reset')),
		limit,
		windowMs: windowOfLimit(policies, limit),
	})
}

/** Returns the window of the policy with this limit, in the notation of older drafts: `100;w=60`. */
export function windowOfLimit(policies: readonly Item[], limit: number | undefined): number | undefined {
	return windowOf(policies.find(({ value, parameters }) => value === limit && parameters.has('w')))
}
