/** `npm run surface`: writes test/surface/, the list of all that is public, so that a change to it shows up in review. */
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { currentSurface, fileName, LISTINGS } from './surface/emit.ts'

const surface = currentSurface()
for (const file of readdirSync(LISTINGS)) if (file.endsWith('.txt')) rmSync(join(LISTINGS, file))
for (const [entry, { names, text }] of surface) {
	writeFileSync(join(LISTINGS, fileName(entry)), text)
	console.log(`${fileName(entry)}: ${names.length} names`)
}
