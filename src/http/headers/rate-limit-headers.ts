/**
 * What a response says about its caller's quota, by the `RateLimit` field of the current draft or by one of the families of headers that
 * came before it. It runs for every response, and most say nothing: each family is asked for by one name only, and
 * the others are looked up when that one is there. The first family found decides; when it is malformed there is no report, for a
 * guess from its relatives could hold every caller back for an hour.
 */
import { readServerTime } from './asked-wait.ts'
import { type HeaderLookup, readDecimal } from './field-value.ts'
import { type QuotaReport, validReport } from './quota-report.ts'
import { readRateLimit, wholeNumber, windowOfLimit } from './rate-limit-field.ts'
import { readReset } from './reset.ts'
import { type Item, parseList } from './structured-fields.ts'

interface Family {
	readonly remaining: string
	/** Where the time until the reset stands, the best first. */
	readonly resets: readonly string[]
	readonly limit: string
	readonly policy?: string
}

const FAMILIES: readonly Family[] = [
	{
		// Drafts before the seventh. GitLab uses the names with a reset since 1970.
		remaining: 'ratelimit-remaining',
		resets: ['ratelimit-reset'],
		limit: 'ratelimit-limit',
		policy: 'ratelimit-policy',
	},
	{
		// GitHub, Discord, Envoy, Reddit and most others.
		remaining: 'x-ratelimit-remaining',
		resets: ['x-ratelimit-reset-after', 'x-ratelimit-reset'],
		limit: 'x-ratelimit-limit',
	},
	{
		remaining: 'x-rate-limit-remaining',
		resets: ['x-rate-limit-reset'],
		limit: 'x-rate-limit-limit',
	},
	{
		// OpenAI and those who speak like it. Their quota of tokens is left out: nobody knows what the next request will cost.
		remaining: 'x-ratelimit-remaining-requests',
		resets: ['x-ratelimit-reset-requests'],
		limit: 'x-ratelimit-limit-requests',
	},
]

/** What the headers say about the quota, or undefined when they say nothing, or nothing that is well formed. */
export function readQuota(headers: HeaderLookup, wallNowMs: number): QuotaReport | undefined {
	const rateLimit = headers.get('ratelimit')
	if (rateLimit !== null) return readRateLimit(rateLimit, headers.get('ratelimit-policy'))
	for (const family of FAMILIES) {
		const remaining = headers.get(family.remaining)
		if (remaining !== null) return readFamily(headers, family, remaining, wallNowMs)
	}
	return undefined
}

function readFamily(
	headers: HeaderLookup,
	family: Family,
	remaining: string,
	wallNowMs: number,
): QuotaReport | undefined {
	const reset = firstOf(headers, family.resets)
	const limits = itemsOf(headers.get(family.limit))
	// Older drafts, and Envoy to this day, tell the policies behind the limit: `10, 10;w=1, 1000;w=3600`.
	const policies = family.policy === undefined ? limits : limits.concat(itemsOf(headers.get(family.policy)))
	const limit = limits[0] && wholeNumber(limits[0].value)
	return validReport({
		// Some count in decimals: half a request is none.
		remaining: Math.floor(readDecimal(remaining) ?? Number.NaN),
		resetMs: reset === null ? undefined : readReset(reset, () => readServerTime(headers, wallNowMs)),
		limit,
		windowMs: policies.includes(MALFORMED) ? Number.NaN : windowOfLimit(policies, limit),
	})
}

function firstOf(headers: HeaderLookup, names: readonly string[]): string | null {
	for (const name of names) {
		const value = headers.get(name)
		if (value !== null) return value
	}
	return null
}

const MALFORMED: Item = { key: '', value: undefined, parameters: new Map() }

const itemsOf = (value: string | null): readonly Item[] =>
	value === null ? [] : (parseList(value) ?? [MALFORMED])
