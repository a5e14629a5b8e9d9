package dataset

// The generator's vocabulary. Each topic lists its words by falling frequency;
// some belong to two topics, as words do.
var topics = []struct{ name, words string }{
	{"Cooking", `
		recipe oven butter garlic sauce flour onion pan simmer sugar salt dough pepper boil chicken bake
		cheese cream lemon soup tomato olive roast spice chop whisk bread rice kitchen pasta egg stir
		flavour vanilla chocolate cake fry basil ginger vinegar potato mushroom honey cinnamon parsley
		steak grill salad dessert cumin noodles yeast bowl spoon knife serving tender crust broth herbs
		carrot bean spinach thyme season fresh plate chef dish taste minutes`},
	{"Astronomy", `
		planet telescope orbit star galaxy moon rocket satellite astronaut solar comet gravity launch
		asteroid mars spacecraft nebula jupiter saturn cosmic light universe crater mission eclipse
		shuttle probe lunar astronomer observatory meteor venus hydrogen radiation sky earth mercury
		constellation supernova lander dwarf cluster neptune helium uranus distant spectrum pulsar
		quasar rover atmosphere capsule module dust infrared dark matter wavelength surface
		gas ring signal antenna crew station night`},
	{"Football", `
		goal match striker team league coach penalty defender midfielder stadium keeper tournament season
		referee pitch champion transfer supporters header derby victory defeat substitute score injury
		final cup offside corner tackle dribble fans captain squad club kick relegation winger header
		training crowd equaliser fixture manager draw whistle contract jersey qualifier kickoff trophy
		promotion shot pass cross minutes star crossbar semifinal lineup friendly half rival table`},
	{"Gardening", `
		soil seeds garden prune flower compost roots bloom leaves plant shrub mulch fertilizer weeds
		tomato lawn petals rose watering stem perennial greenhouse pot harvest bulbs hedge spade
		blossom tulip sunlight shade seedling insects aphids rain fruit trees branch apple orchard
		herbs basil frost spring moss rake trowel nursery vines grape ivy fern daisy lavender pollen
		bees drainage clay sprout annual season border bean carrot potato fresh dig rows earth`},
}

// commonWords carry no topic.
const commonWords = `
	new people time year good great first day long small last little year best early late way part
	place work week home world number old high different large next young important few public bad
	able thing man woman child point hand problem fact case group company city month right left
	start end side kind head house service friend father mother power hour game line member law car
	community name president minute idea body information back parent face others level office door
	health person art war history party result change morning reason research girl guy moment air
	teacher force education foot boy age policy process music market sense plan interest effect`
