/** Preloaded with `node --import`: `yaoki/...` is the source of this repository instead of a build, which may be missing or old. */
import { registerHooks } from 'node:module'

const SOURCE = new URL('../../src/', import.meta.url)

registerHooks({
	resolve(specifier, context, next) {
		const [name, ...path] = specifier.split('/')
		if (name !== 'yaoki') return next(specifier, context)
		return next(new URL(`${path.join('/') || 'core'}/index.ts`, SOURCE).href, context)
	},
})
