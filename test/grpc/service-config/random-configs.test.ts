import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseServiceConfig } from 'yaoki/grpc'
import { CONFIG } from './arbitrary-config.ts'
import { errorOf } from './configs.ts'

test('random valid configs are parsed, as text and as object alike, and each name finds its entry', () => {
	fc.assert(
		fc.property(CONFIG, (json) => {
			const config = parseServiceConfig(json)
			expect(parseServiceConfig(JSON.stringify(json)).methodConfigs).toEqual(config.methodConfigs)
			expect(config.methodConfigs.length).toBe(json.methodConfig.length)
			for (const { names, config: settings } of config.methodConfigs)
				for (const { service, method } of names) expect(config.find(service, method)).toBe(settings)
			expect(config.json).toEqual(JSON.parse(JSON.stringify(json)))
		}),
	)
})

/** Values that are invalid for every field. Null is missing, which is invalid only for required fields. */
const WRONG = fc.constantFrom<unknown>(
	-1,
	1.5e300,
	Number.NaN,
	Infinity,
	'',
	'x',
	'-1s',
	[[]],
	{ a: 1 },
	() => 1,
)

interface Place {
	readonly path: string
	readonly holder: Record<string, unknown>
	readonly key: string
}

/** Fields for which some of the wrong values are valid. */
const HARMLESS: Readonly<Record<string, readonly unknown[]>> = {
	service: ['', 'x', '-1s'],
	method: ['', 'x', '-1s'],
	tokenRatio: [1.5e300],
	backoffMultiplier: [1.5e300],
	maxAttempts: [1.5e300],
}

/** Returns every field of a config and every item of its lists. */
function placesIn(value: unknown, path = ''): Place[] {
	if (typeof value !== 'object' || value === null) return []
	const holder = value as Record<string, unknown>
	return Object.keys(holder).flatMap((key) => {
		const place = Array.isArray(value) ? `${path}[${key}]` : `${path}${path && '.'}${key}`
		return [{ path: place, holder, key }, ...placesIn(holder[key], place)]
	})
}

test('a random wrong value in a valid config gives an error whose path is its place', () => {
	fc.assert(
		fc.property(CONFIG, fc.nat(), WRONG, (valid, position, wrong) => {
			const json = structuredClone(valid)
			const places = placesIn(json)
			const place = places[position % places.length]
			if (!place) return
			fc.pre(!HARMLESS[place.key]?.includes(wrong))
			place.holder[place.key] = wrong
			const error = errorOf(json)
			// A list or an object of the wrong kind may be reported at what it contains.
			if (typeof wrong === 'object') expect(error.optionPath.startsWith(place.path)).toBe(true)
			else expect([error.optionPath, error.received]).toEqual([place.path, wrong])
		}),
		{ numRuns: 500 },
	)
})

const REQUIRED =
	/\.(maxAttempts|initialBackoff|maxBackoff|backoffMultiplier|retryableStatusCodes|name|maxTokens|tokenRatio)$/

test('a required field that is removed or null gives an error with its path', () => {
	fc.assert(
		fc.property(CONFIG, fc.nat(), fc.boolean(), (valid, position, isNull) => {
			const json = structuredClone(valid)
			const places = placesIn(json).filter(({ path }) => REQUIRED.test(path))
			const place = places[position % places.length]
			if (!place) return
			if (isNull) place.holder[place.key] = null
			else delete place.holder[place.key]
			const error = errorOf(json)
			expect([error.optionPath, error.received]).toEqual([place.path, undefined])
		}),
	)
})

test('an unknown field anywhere in a method config or in retryThrottling gives an error with its path', () => {
	fc.assert(
		fc.property(CONFIG, fc.nat(), (valid, position) => {
			const json = structuredClone(valid)
			const objects = placesIn(json).filter(
				({ holder, key }) => Object.prototype.toString.call(holder[key]) === '[object Object]',
			)
			const place = objects[position % objects.length]
			if (!place) return
			Object.assign(place.holder[place.key] as object, { extra: 1 })
			const error = errorOf(json)
			expect([error.optionPath, error.isUnknown]).toEqual([`${place.path}.extra`, true])
		}),
	)
})

test('random JSON is a valid config or an InvalidOptionError', () => {
	const keys = fc.constantFrom(
		'methodConfig',
		'name',
		'retryPolicy',
		'timeout',
		'retryThrottling',
		'maxTokens',
		'__proto__',
	)
	const json = fc.letrec((tie) => ({
		value: fc.oneof({ depthSize: 'small' }, fc.jsonValue({ maxDepth: 1 }), tie('list'), tie('object')),
		list: fc.array(tie('value'), { maxLength: 3 }),
		object: fc.dictionary(keys, tie('value'), { maxKeys: 4 }),
	})).object
	fc.assert(
		fc.property(json, (value) => {
			try {
				parseServiceConfig(JSON.stringify(value))
			} catch (error) {
				expect(error).toHaveProperty('code', 'YAOKI_INVALID_OPTION')
			}
		}),
	)
})
