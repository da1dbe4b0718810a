import type { Observation } from '../../core/observe/observation.ts'
import { notify } from '../../core/options/hooks.ts'
import type { ObservedSource, ServiceFacts } from './exporter.ts'

/** Longer names are truncated: they are label values. */
const MAX_LENGTH = 200

/** Names of more keys are computed again. Clients keep at most some hundreds of origins. */
const MAX_CACHED = 1_000

/** The host of an origin, which may be followed by a space and the key of a breaker. */
const HOST = /^[a-z][a-z0-9+.-]*:\/\/([^/ ]+)/i

/** Returns the function that names the service of an event. */
export function serviceNames(
	name: string,
	{ kind, origin }: Pick<Observation, 'kind' | 'origin'>,
	service: ((facts: ServiceFacts) => string | undefined) | undefined,
): ObservedSource['serviceOf'] {
	const shortName = name.slice(0, MAX_LENGTH)
	const byDefault = kind === 'http' ? hostNames(shortName, origin) : () => shortName
	if (!service) return byDefault
	let hasFailed = false
	return (facts) => {
		try {
			const given = service(facts)
			return given === undefined ? byDefault(facts) : String(given).slice(0, MAX_LENGTH)
		} catch (error) {
			// Reported like the error of a listener, but once.
			if (!hasFailed)
				notify('service', () => {
					throw error
				})
			hasFailed = true
			return byDefault(facts)
		}
	}
}

/** Requests to a client's base URL have the client's name, other requests the name of their host. */
function hostNames(name: string, base: string | undefined): ObservedSource['serviceOf'] {
	const byKey = new Map<string, string>()
	return ({ key }) => {
		if (key === undefined) return name
		const known = byKey.get(key)
		if (known !== undefined) return known
		if (byKey.size >= MAX_CACHED) byKey.clear()
		const isBase = base !== undefined && key.split(' ', 1)[0] === base
		const host = (isBase ? undefined : HOST.exec(key)?.[1]?.slice(0, MAX_LENGTH)) ?? name
		byKey.set(key, host)
		return host
	}
}
