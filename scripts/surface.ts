/** `npm run surface`: writes the list of all that is public, so that a change to it shows up in review. */
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { currentSurface, LISTINGS } from './surface/emit.ts'
import { ROOT } from './tools.ts'

const { listings, files } = currentSurface()
for (const file of readdirSync(join(ROOT, LISTINGS)))
	if (file.endsWith('.txt')) rmSync(join(ROOT, LISTINGS, file))
for (const [path, text] of files) writeFileSync(join(ROOT, path), text)
for (const [entry, { names }] of listings) console.log(`${entry}: ${names.length} names`)
