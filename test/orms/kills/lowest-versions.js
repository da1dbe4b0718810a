/** Preloaded by the processes: resolves the ORMs to their lowest supported versions. */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const LOWEST = new URL('../lowest/package.json', import.meta.url)
const names = Object.keys(JSON.parse(readFileSync(LOWEST, 'utf8')).devDependencies)

registerHooks({
	resolve(specifier, context, next) {
		const isLowest = names.some((name) => specifier === name || specifier.startsWith(`${name}/`))
		const isOurs = !context.parentURL?.includes('/node_modules/')
		return next(specifier, isLowest && isOurs ? { ...context, parentURL: LOWEST.href } : context)
	},
})
