/**
 * The `RateLimit` field with its `RateLimit-Policy`, as draft-ietf-httpapi-ratelimit-headers has it now (a list of named policies) and as its
 * seventh edition had it (a dictionary), which many servers still send. Of several policies the one that binds first is
 * told, because a caller can only wait once. A policy that counts bytes or open requests is passed over, for
 * callers count requests; so is one that does not say when it resets.
 */
import { type QuotaReport, validReport } from './quota-report.ts'
import { type Item, parseDictionary, parseList } from './structured-fields.ts'

const SECOND_MS = 1_000

/** A whole number from `least` on, or NaN. */
export const wholeNumber = (value: unknown, least = 0): number =>
	typeof value === 'number' && value >= least ? value : Number.NaN

/** A parameter that may be absent: undefined then. */
const parameter = ({ parameters }: Item, name: string, least = 0): number | undefined =>
	parameters.has(name) ? wholeNumber(parameters.get(name), least) : undefined

const inMs = (seconds: number | undefined): number | undefined =>
	seconds === undefined ? undefined : seconds * SECOND_MS

const windowOf = (policy: Item | undefined): number | undefined => policy && inMs(parameter(policy, 'w', 1))

/** What `RateLimit` says, or undefined when it is malformed or tells nothing about requests. `policy` is `RateLimit-Policy`. */
export function readRateLimit(value: string, policy: string | null): QuotaReport | undefined {
	const policies = policy === null ? [] : parseList(policy)
	if (policies === undefined) return undefined
	const limits = parseList(value)
	if (limits) return bindingFirst(limits, policies)
	const fields = parseDictionary(value)
	return fields && fromDictionary(fields, policies)
}

function bindingFirst(limits: readonly Item[], policies: readonly Item[]): QuotaReport | undefined {
	let first: QuotaReport | undefined
	for (const item of limits) {
		const policy = policies.find(({ value }) => value === item.value)
		const report = validReport({
			remaining: typeof item.value === 'string' ? wholeNumber(item.parameters.get('r')) : Number.NaN,
			resetMs: item.parameters.has('t') ? inMs(parameter(item, 't')) : Number.POSITIVE_INFINITY,
			limit: policy && wholeNumber(policy.parameters.get('q')),
			windowMs: windowOf(policy),
		})
		if (report === undefined) return undefined
		const isOfRequests = !policy?.parameters.has('qu') || policy.parameters.get('qu') === 'requests'
		if (isOfRequests && Number.isFinite(report.resetMs) && bindsBefore(report, first)) first = report
	}
	return first
}

const bindsBefore = (one: QuotaReport, other: QuotaReport | undefined): boolean =>
	other === undefined ||
	one.remaining < other.remaining ||
	(one.remaining === other.remaining && one.resetMs > other.resetMs)

function fromDictionary(fields: readonly Item[], policies: readonly Item[]): QuotaReport | undefined {
	const named = (name: string): number | undefined => {
		const field = fields.findLast(({ key }) => key === name)
		return field && wholeNumber(field.value)
	}
	const limit = named('limit')
	return validReport({
		remaining: named('remaining'),
		resetMs: inMs(named('reset')),
		limit,
		windowMs: windowOfLimit(policies, limit),
	})
}

/** The window of the policy with this limit, in the notation of older drafts: `100;w=60`. */
export function windowOfLimit(policies: readonly Item[], limit: number | undefined): number | undefined {
	return windowOf(policies.find(({ value, parameters }) => value === limit && parameters.has('w')))
}
