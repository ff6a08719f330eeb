"""All recipes of the cookbook: `RECIPES`, in the order of the page."""  # noqa: INP001 see recipe.py

from docs.cookbook.of_controller import CONTROLLER_RECIPES
from docs.cookbook.of_failures import FAILURE_RECIPES
from docs.cookbook.of_use import USE_RECIPES
from docs.cookbook.of_waiting import WAITING_RECIPES
from docs.cookbook.recipe import Recipe

CHAPTERS: dict[str, tuple[Recipe, ...]] = {
    "Failures and retries": FAILURE_RECIPES,
    "Waiting": WAITING_RECIPES,
    "Use and waste": USE_RECIPES,
    "The controller": CONTROLLER_RECIPES,
}

RECIPES = tuple(recipe for chapter in CHAPTERS.values() for recipe in chapter)
