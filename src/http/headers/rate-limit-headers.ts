/**
 * Reads the caller's quota from a response: from the `RateLimit` field of the current draft, or from an older
 * family of headers. Most responses have none of them, so each family costs one lookup until its first header
 * is found. The first family found decides. If it is malformed there is no report: a guess from another
 * family could delay every caller for an hour.
 */
import { type HeaderLookup, readDecimal, trimBlanks } from '../../core/headers/header-values.ts'
import { readServerTime } from './retry-headers.ts'
import { type Item, parseDictionary, parseList } from './structured-fields.ts'

interface Family {
	readonly remaining: string
	/** Headers with the time until the reset, the preferred one first. */
	readonly resets: readonly string[]
	readonly limit: string
	readonly policy?: string
}

const family = (prefix: string, suffix = '', extra: Partial<Family> = {}): Family => ({
	remaining: `${prefix}-remaining${suffix}`,
	resets: [`${prefix}-reset${suffix}`],
	limit: `${prefix}-limit${suffix}`,
	...extra,
})

const FAMILIES: readonly Family[] = [
	// Drafts before 7. GitLab uses these names with a reset in seconds since 1970.
	family('ratelimit', '', { policy: 'ratelimit-policy' }),
	// GitHub, Discord, Envoy, Reddit and most others.
	family('x-ratelimit', '', { resets: ['x-ratelimit-reset-after', 'x-ratelimit-reset'] }),
	family('x-rate-limit'),
	// OpenAI and compatible APIs. Their token quota is ignored: the cost of the next request is unknown.
	family('x-ratelimit', '-requests'),
]

/**
 * Returns the quota that the headers report, or undefined if they report none or are malformed. The response
 * of a 429 shows that nothing remains, also if only the time of the reset is in its headers.
 */
export function readQuota(
	headers: HeaderLookup,
	wallNowMs: number,
	isLimited = false,
): QuotaReport | undefined {
	const rateLimit = headers.get('ratelimit')
	if (typeof rateLimit === 'string') return readRateLimit(rateLimit, headers.get('ratelimit-policy'))
	for (const family of FAMILIES) {
		const remaining = headers.get(family.remaining)
		if (typeof remaining === 'string' || (isLimited && firstHeader(headers, family.resets) !== undefined))
			return readFamily(headers, family, remaining ?? '0', wallNowMs)
	}
	return undefined
}

function readFamily(
	headers: HeaderLookup,
	family: Family,
	remaining: string,
	wallNowMs: number,
): QuotaReport | undefined {
	const reset = firstHeader(headers, family.resets)
	const limits = parseGiven(headers.get(family.limit))
	const others = parseGiven(family.policy && headers.get(family.policy))
	if (!limits || !others) return undefined
	const limit = limits[0] && readInteger(limits[0].value)
	return validReport({
		// Some servers send decimals: half a request is not a request.
		remaining: Math.floor(readDecimal(remaining) ?? NaN),
		resetMs: reset === undefined ? undefined : readReset(reset, () => readServerTime(headers, wallNowMs)),
		limit,
		// Older drafts and Envoy append the policies to the limit: `10, 10;w=1, 1000;w=3600`.
		windowMs: windowOfLimit([...limits, ...others], limit),
	})
}

function firstHeader(headers: HeaderLookup, names: readonly string[]): string | undefined {
	for (const name of names) {
		const value = headers.get(name)
		if (typeof value === 'string') return value
	}
	return undefined
}

/** Returns the items of a header, none if it is absent, or undefined if it is malformed. */
const parseGiven = (value: string | null | undefined): readonly Item[] | undefined =>
	typeof value === 'string' ? parseList(value) : []

const MIN_EPOCH_SECONDS = 1e9
/** In seconds this is the year 5138, in milliseconds the year 1973. */
const MIN_EPOCH_MS = 1e11

const AMOUNT = '(\\d{1,12}(?:\\.\\d{1,12})?)'
const DURATION = new RegExp(`^(?=.)(?:${AMOUNT}h)?(?:${AMOUNT}m(?!s))?(?:${AMOUNT}s)?(?:${AMOUNT}ms)?$`)
const UNITS_MS = [3_600_000, 60_000, 1_000, 1]

/**
 * Returns the milliseconds until the reset, or NaN if malformed. Servers send seconds from now, seconds or
 * milliseconds since 1970, or a duration. Plain numbers are distinguished by size: a wait is shorter than
 * thirty years, and a server's clock is past 2001.
 */
function readReset(text: string, serverTime: () => number): number {
	const value = readDecimal(text)
	if (value === undefined) return readDuration(text)
	if (value < MIN_EPOCH_SECONDS) return value * 1_000
	return Math.max(0, (value < MIN_EPOCH_MS ? value * 1_000 : value) - serverTime())
}

/** Reads a duration as Go prints it, down to milliseconds: `1h2m3.5s`, `120ms`. */
function readDuration(text: string): number {
	const amounts = DURATION.exec(trimBlanks(text))
	if (amounts === null) return NaN
	return UNITS_MS.reduce((sum, unit, index) => sum + Number(amounts[index + 1] ?? 0) * unit, 0)
}

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
 * Returns the parts as a report, or undefined if a required part is missing or any part is malformed. Parsers
 * pass undefined for a missing part and NaN for a malformed one, so only this function checks, and a server
 * with one malformed header is not half believed.
 */
function validReport(
	parts: Readonly<Record<keyof QuotaReport, number | undefined>>,
): QuotaReport | undefined {
	const { remaining, resetMs, limit = 0, windowMs = 0 } = parts
	if (remaining === undefined || resetMs === undefined) return undefined
	return Number.isNaN(remaining + resetMs + limit + windowMs) ? undefined : { ...parts, remaining, resetMs }
}

/** Returns an integer of at least `min`, or NaN. */
const readInteger = (value: unknown, min = 0): number =>
	typeof value === 'number' && value >= min ? value : NaN

/** Returns an optional parameter; undefined if it is absent. */
const parameter = ({ parameters }: Item, name: string, min = 0): number | undefined =>
	parameters.has(name) ? readInteger(parameters.get(name), min) : undefined

const inMs = (seconds: number | undefined): number | undefined => seconds && seconds * 1_000

const windowOf = (policy: Item | undefined): number | undefined => policy && inMs(parameter(policy, 'w', 1))

/**
 * Reads `RateLimit` (`value`) and `RateLimit-Policy` (`policy`), both in the current form of
 * draft-ietf-httpapi-ratelimit-headers (a list of named policies) and in the form of draft 7 (a dictionary),
 * which many servers still send. Of several policies the most restrictive one is returned, because a caller
 * waits for one reset. Policies that count bytes or concurrent requests are skipped, because callers count
 * requests; so are policies without a reset time. Returns undefined if malformed.
 */
function readRateLimit(value: string, policy: string | null | undefined): QuotaReport | undefined {
	const policies = parseGiven(policy)
	if (policies === undefined) return undefined
	const limits = parseList(value)
	if (limits) return mostRestrictive(limits, policies)
	const fields = parseDictionary(value)
	return fields && fromDictionary(fields, policies)
}

function mostRestrictive(limits: readonly Item[], policies: readonly Item[]): QuotaReport | undefined {
	// The first policy of a name counts.
	const policyOf = new Map([...policies].reverse().map((policy) => [policy.value, policy]))
	let first: QuotaReport | undefined
	for (const item of limits) {
		const policy = policyOf.get(item.value)
		const report = validReport({
			remaining: typeof item.value === 'string' ? readInteger(item.parameters.get('r')) : NaN,
			resetMs: inMs(parameter(item, 't')) ?? Infinity,
			limit: policy && readInteger(policy.parameters.get('q')),
			windowMs: windowOf(policy),
		})
		if (report === undefined) return undefined
		const countsRequests = !policy?.parameters.has('qu') || policy.parameters.get('qu') === 'requests'
		if (countsRequests && report.resetMs < Infinity && isStricter(report, first)) first = report
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
function windowOfLimit(policies: readonly Item[], limit: number | undefined): number | undefined {
	return windowOf(policies.find(({ value, parameters }) => value === limit && parameters.has('w')))
}
