/**
 * Records errors that packages throw, for packages that are not development dependencies of the repository. Writes errors.json.
 *
 *     cd test/core/classify/recorded && npm install && npm run record
 *
 * `npm run record -- mail kafka` prints these families instead. Plain JavaScript, because the packages are installed only here, and the
 * repository's type check must not need them.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { describe } from './shape.js'

const ALL = ['apis', 'kafka', 'mail', 'mongodb', 'mysql', 'postgres', 'prisma', 'sqlite']
const asked = process.argv.slice(2)
const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
const errors = {}
for (const family of asked.length > 0 ? asked : ALL) {
	const { cases, close } = await import(`./${family}.js`)
	for (const [name, provoke] of Object.entries(cases)) {
		console.error(name)
		const result = await provoke()
		const isConstructed = result?.how === 'constructed'
		errors[name] = {
			how: isConstructed ? 'constructed' : 'thrown',
			error: describe(isConstructed ? result.error : result),
		}
	}
	await close?.()
}
const lines = Object.entries(errors).map(
	([name, shape]) => `\t\t${JSON.stringify(name)}: ${JSON.stringify(shape)}`,
)
const text = `{\n\t"packages": ${JSON.stringify(dependencies)},\n\t"errors": {\n${lines.join(',\n')}\n\t}\n}\n`
if (asked.length > 0) console.log(text)
else writeFileSync('errors.json', text)
// Some clients keep a timer or a connection.
process.exit(0)
