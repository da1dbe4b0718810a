import type { HttpSettings } from './http-options.ts'
import type { HttpServiceConfig } from './http-service-config.ts'

/**
 * What the engine reads of a service config. The implementation is `httpServiceConfig` of `yaoki/grpc`, so that clients without a service
 * config hardly pay for it.
 */
export interface ConfiguredRoutes extends HttpServiceConfig {
	/**
	 * Returns the settings of a request: those of the client with those of the config, the same object for each request of an entry. Undefined
	 * if the origin is not configured.
	 */
	settingsOf(origin: string, url: string, client: HttpSettings): HttpSettings | undefined
}
