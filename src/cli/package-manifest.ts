import { readFileSync } from 'node:fs'

/** Reads package.json on demand. src/cli and dist/cli have the same depth. */
export const packageManifest = (): Readonly<Record<string, unknown>> =>
	JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
