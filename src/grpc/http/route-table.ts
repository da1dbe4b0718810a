/** Finds the entry of a service config for the path of a URL. */
import { invalidOption } from '../../core/options/schema.ts'
import type { MethodConfig, ServiceConfig } from '../service-config/service-config.ts'

/**
 * Entries for a method apply to one path, those for a service to all paths below it: `/shop.Orders/Get` is the method Get of the service
 * shop.Orders, and `/v1/orders/7/items` belongs to the service v1/orders. The most specific entry applies.
 */
export class RouteTable {
	readonly #paths = new Map<string, MethodConfig>()
	readonly #services = new Map<string, MethodConfig>()

	/** `optionPath` is that of the config in errors. */
	constructor({ methodConfigs }: ServiceConfig, optionPath: string) {
		for (const { names, config } of methodConfigs)
			for (const { service, method } of names) {
				// It would match no path, and silently be ignored.
				if (/^\/|\/$/.test(service))
					invalidOption(optionPath, service, 'services without a slash at the beginning and at the end')
				if (method) this.#paths.set(`${service}/${method}`, config)
				else this.#services.set(service, config)
			}
	}

	/** Returns the settings of a path such as `/shop.Orders/Get`; undefined if there are none. */
	find(path: string): MethodConfig | undefined {
		const name = path.slice(1)
		const found = this.#paths.get(name)
		if (found) return found
		for (let end = name.length; end > 0; end = name.lastIndexOf('/', end - 1)) {
			const service = this.#services.get(name.slice(0, end))
			if (service) return service
		}
		return this.#services.get('')
	}
}
