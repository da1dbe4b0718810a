import { readFileSync } from 'node:fs'

/**
 * The version of the package that this file is in. It is read when it is asked for, and not written into the source, where it
 * would have to be kept right by hand; src/cli and dist/cli are equally deep.
 */
export function packageVersion(): string {
	const { version }: { version?: unknown } = JSON.parse(
		readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
	)
	return String(version)
}
