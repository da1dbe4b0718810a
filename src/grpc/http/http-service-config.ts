/**
 * Service configs for HTTP. The policies of a service owner are the same on both protocols; what differs is what a failure is called. So this
 * translates paths to services and methods, and failures to status codes, and everything else is done by core and by `yaoki/http`.
 */
import { invalidOption, isObject } from '../../core/options/schema.ts'
import type { ConfiguredRoutes } from '../../http/options/configured-routes.ts'
import type { HttpSettings } from '../../http/options/http-options.ts'
import type { HttpServiceConfig } from '../../http/options/http-service-config.ts'
import { page } from '../../http/transport/page.ts'
import { type MethodConfig, ServiceConfig } from '../service-config/service-config.ts'
import { OriginTokens } from './outcomes.ts'
import { Route } from './route.ts'
import { RouteTable } from './route-table.ts'

class OriginConfig {
	readonly #tokens: OriginTokens
	readonly #table: RouteTable
	readonly #routes = new Map<MethodConfig | undefined, Route>()

	constructor(config: ServiceConfig, optionPath: string) {
		this.#tokens = new OriginTokens(config.retryThrottling)
		this.#table = new RouteTable(config, optionPath)
	}

	routeOf(url: string): Route {
		const found = this.#table.find(new URL(url, page()?.href).pathname)
		const known = this.#routes.get(found)
		if (known) return known
		const created = new Route(found, this.#tokens)
		this.#routes.set(found, created)
		return created
	}
}

class ServiceConfigs implements ConfiguredRoutes {
	readonly origins: readonly string[]
	readonly #configs: ReadonlyMap<string, OriginConfig>

	constructor(configs: ReadonlyMap<string, OriginConfig>) {
		this.origins = Object.freeze([...configs.keys()])
		this.#configs = configs
	}

	settingsOf(origin: string, url: string, client: HttpSettings): HttpSettings | undefined {
		return this.#configs.get(origin)?.routeOf(url).settingsFrom(client)
	}
}

/**
 * Returns service configs for `resilientFetch`, `ResilientHttpClient` and the adapters, by origin. For a URL such as
 * `https://api.example.com/shop.Orders/Get` the last part of the path is the method, and what precedes it is the service. An entry for a
 * service applies to every path below it.
 *
 * The service owner decides what is retried: requests of an entry with a retry policy are retried after the listed failures, POST too, and
 * other requests to the origin are not retried.
 *
 * @example
 * const fetch = resilientFetch({
 *   serviceConfig: httpServiceConfig({ 'https://api.example.com': parseServiceConfig(json) }),
 * })
 */
export function httpServiceConfig(configs: Readonly<Record<string, ServiceConfig>>): HttpServiceConfig {
	if (!isObject(configs)) invalidOption('configs', configs, 'an object with an origin per service config')
	const byOrigin = new Map<string, OriginConfig>()
	for (const [key, config] of Object.entries(configs)) {
		const path = `configs["${key}"]`
		const origin = readOrigin(path, key)
		if (byOrigin.has(origin)) invalidOption(path, key, 'each origin once')
		if (!(config instanceof ServiceConfig))
			invalidOption(path, config, 'a ServiceConfig, which parseServiceConfig(...) returns')
		byOrigin.set(origin, new OriginConfig(config, path))
	}
	return new ServiceConfigs(byOrigin)
}

function readOrigin(path: string, key: string): string {
	const { origin = '', href } = URL.canParse(key) ? new URL(key) : {}
	if (!origin.startsWith('http') || href !== `${origin}/`)
		invalidOption(path, key, 'an origin without a path, such as "https://api.example.com"')
	return origin
}
