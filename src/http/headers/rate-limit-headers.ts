/**
 * Reads the caller's quota from a response: from the `RateLimit` field of the current draft, or from an older family of headers. Most
 * responses have none of them, so each family costs one lookup until its first header is found. The first family found decides. If it
 * is malformed there is no report: a guess from another family could delay every caller for an hour.
 */
import { type HeaderLookup, readDecimal, trimBlanks } from '../../core/headers/header-values.ts'
import {
	type QuotaReport,
	readInteger,
	readRateLimit,
	validReport,
	windowOfLimit,
} from './rate-limit-field.ts'
import { readServerTime } from './retry-after.ts'
import { type Item, parseList } from './structured-fields.ts'

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
 * Returns the quota that the headers report, or undefined if they report none or are malformed. The response of a 429 shows that nothing
 * remains, also if only the time of the reset is in its headers.
 */
export function readQuota(
	headers: HeaderLookup,
	wallNowMs: number,
	isLimited = false,
): QuotaReport | undefined {
	const rateLimit = headers.get('ratelimit') ?? undefined
	if (rateLimit !== undefined) return readRateLimit(rateLimit, headers.get('ratelimit-policy') ?? null)
	for (const family of FAMILIES) {
		const remaining =
			headers.get(family.remaining) ?? (isLimited ? impliedRemaining(headers, family) : undefined)
		if (remaining !== undefined) return readFamily(headers, family, remaining, wallNowMs)
	}
	return undefined
}

const impliedRemaining = (headers: HeaderLookup, { resets }: Family): string | undefined =>
	firstHeader(headers, resets) === undefined ? undefined : '0'

function readFamily(
	headers: HeaderLookup,
	family: Family,
	remaining: string,
	wallNowMs: number,
): QuotaReport | undefined {
	const reset = firstHeader(headers, family.resets)
	const limits = itemsOf(headers.get(family.limit))
	// Older drafts and Envoy append the policies to the limit: `10, 10;w=1, 1000;w=3600`.
	const policies = family.policy === undefined ? limits : limits.concat(itemsOf(headers.get(family.policy)))
	const limit = limits[0] && readInteger(limits[0].value)
	return validReport({
		// Some servers send decimals: half a request is not a request.
		remaining: Math.floor(readDecimal(remaining) ?? Number.NaN),
		resetMs: reset === undefined ? undefined : readReset(reset, () => readServerTime(headers, wallNowMs)),
		limit,
		windowMs: policies.includes(MALFORMED) ? Number.NaN : windowOfLimit(policies, limit),
	})
}

function firstHeader(headers: HeaderLookup, names: readonly string[]): string | undefined {
	for (const name of names) {
		const value = headers.get(name) ?? undefined
		if (value !== undefined) return value
	}
	return undefined
}

const MALFORMED: Item = { key: '', value: undefined, parameters: new Map() }

const itemsOf = (value: string | null | undefined): readonly Item[] =>
	typeof value === 'string' ? (parseList(value) ?? [MALFORMED]) : []

const MIN_EPOCH_SECONDS = 1e9
/** As seconds this is the year 5138, as milliseconds 1973. */
const MIN_EPOCH_MS = 1e11

const AMOUNT = '(\\d{1,12}(?:\\.\\d{1,12})?)'
const DURATION = new RegExp(`^(?=.)(?:${AMOUNT}h)?(?:${AMOUNT}m(?!s))?(?:${AMOUNT}s)?(?:${AMOUNT}ms)?$`)
const UNITS_MS = [3_600_000, 60_000, 1_000, 1]

/**
 * Returns the milliseconds until the reset, or NaN if malformed. Servers send seconds from now, seconds or milliseconds since 1970, or a
 * duration. Plain numbers are distinguished by size: a wait is shorter than thirty years, and a server's clock is past 2001.
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
	if (amounts === null) return Number.NaN
	return UNITS_MS.reduce((sum, unit, index) => sum + Number(amounts[index + 1] ?? 0) * unit, 0)
}
